use idempotent_tests::ui::*;

#[allow(async_fn_in_trait)]
trait Payments {
    async fn charge(&self, conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure>;
}

struct Stripe;

impl Payments for Stripe {
    #[idempotent(key = "order_<order_id>")]
    async fn charge(&self, conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
        order_total(conn, order_id).await
    }
}

async fn caller(conn: &mut SqliteConnection) -> Result<u32, Failure> {
    Stripe.charge(conn, 42).await
}

fn main() {}
