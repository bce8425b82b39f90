//! Free functions: visibility, documentation, attributes, conditions, and where they may stand.
#![deny(warnings)]

use idempotent_tests::ui::*;

/// Charges an order.
#[idempotent(key = "plain_<order_id>")]
async fn plain(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

/// Documented above the attribute.
#[idempotent(key = "public_<order_id>")]
/// And below it.
#[allow(clippy::unused_async)]
#[inline]
pub async fn public(_conn: &mut SqliteConnection, order_id: i64) -> Result<i64, Failure> {
    Ok(order_id)
}

mod inner {
    use idempotent_tests::ui::*;

    #[idempotent(key = "restricted_<order_id>")]
    pub(crate) async fn restricted(
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        order_total(conn, order_id).await
    }

    #[idempotent(key = "outward_<order_id>")]
    pub(super) async fn outward(
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        order_total(conn, order_id).await
    }
}

#[cfg(all())]
#[idempotent(key = "conditional_<order_id>")]
async fn conditional(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = "conditional_<order_id>")]
#[cfg(any())]
async fn conditional(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Nothing> {
    missing(conn, order_id).await
}

#[idempotent(key = "traced_<order_id>")]
#[tracing::instrument(skip_all, fields(order_id))]
async fn traced(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[tracing::instrument(skip(store))]
async fn traced_outside(store: &SqliteStore, order_id: i64) -> Result<u32, Failure> {
    #[idempotent(key = "nested_item_<order_id>")]
    async fn nested_item(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
        order_total(conn, order_id).await
    }
    Ok(nested_item(store, order_id).await?.into_value())
}

#[idempotent(key = "expecting_<order_id>")]
#[expect(unused_variables)]
async fn expecting(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    let unused = 7;
    order_total(conn, order_id).await
}

macro_rules! job {
    ($name:ident, $key:literal, $argument:ident: $ty:ty, $body:expr) => {
        #[idempotent(key = $key, ignore(first))]
        async fn $name(
            conn: &mut SqliteConnection,
            $argument: $ty,
            first: u8,
        ) -> Result<u32, Failure> {
            let _ = first;
            $body(conn, $argument).await
        }
    };
}

job!(by_macro, "by_macro_<order_id>", order_id: i64, order_total);

#[idempotent(key = "once", once)]
async fn once(conn: &mut SqliteConnection) -> Result<u32, Failure> {
    order_total(conn, 42).await
}

fn main() {
    on_a_store(async |store| {
        for _ in 0..2 {
            assert_eq!(plain(store, 42).await.unwrap().into_value(), 7);
            assert_eq!(public(store, 42).await.unwrap().into_value(), 42);
            assert_eq!(inner::restricted(store, 42).await.unwrap().into_value(), 7);
            assert_eq!(inner::outward(store, 42).await.unwrap().into_value(), 7);
            assert_eq!(conditional(store, 42).await.unwrap().into_value(), 7);
            assert_eq!(traced(store, 42).await.unwrap().into_value(), 7);
            assert_eq!(traced_outside(store, 42).await.unwrap(), 7);
            assert_eq!(expecting(store, 42).await.unwrap().into_value(), 7);
            assert_eq!(by_macro(store, 42, 1).await.unwrap().into_value(), 7);
        }
        assert!(once(store).await.unwrap().is_performed());
        assert!(once(store).await.unwrap().is_replayed());
    });
}
