use idempotent_tests::ui::*;

#[allow(async_fn_in_trait)]
trait Payments {
    #[idempotent(key = "order_<order_id>")]
    async fn charge(&self, conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure>;
}

async fn caller(payments: &impl Payments, conn: &mut SqliteConnection) -> Result<u32, Failure> {
    payments.charge(conn, 42).await
}

fn main() {}
