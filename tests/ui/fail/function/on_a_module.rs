use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
mod payments {
    pub const fn order_id() -> i64 {
        42
    }
}

fn caller() -> i64 {
    payments::order_id()
}

fn main() {}
