use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
trait Payments {
    fn order_id(&self) -> i64;
}

fn caller(payments: &impl Payments) -> i64 {
    payments.order_id()
}

fn main() {}
