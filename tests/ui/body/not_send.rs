//! A value that may not go to another thread is kept across an `.await`, and the job is spawned.

use idempotent_tests::ui::*;

#[idempotent(key = "order_<order_id>")]
async fn charge(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let rate = std::rc::Rc::new(2);
    let total = order_total(conn, order_id).await?;
    Ok(total * *rate)
}

// Called as: tokio::spawn(async move { charge(place, 42).await })
