use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
struct Payment {
    order_id: i64,
}

fn caller(payment: Payment) -> i64 {
    payment.order_id
}

fn main() {}
