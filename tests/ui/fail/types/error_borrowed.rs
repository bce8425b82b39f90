use idempotent_tests::ui::*;

#[derive(Debug, thiserror::Error)]
#[error("declined: {0}")]
struct Declined<'a>(&'a str);

impl From<Error> for Declined<'_> {
    fn from(_: Error) -> Self {
        Self("by the runtime")
    }
}

#[idempotent(key = "order_<order_id>")]
async fn charge(
    conn: &mut SqliteConnection,
    order_id: i64,
    note: &str,
) -> Result<u32, Declined<'_>> {
    order_total(conn, order_id).await.map_err(|_| Declined(note))
}

async fn caller(store: &SqliteStore) -> bool {
    charge(store, 42, "paid").await.is_ok()
}

fn main() {}
