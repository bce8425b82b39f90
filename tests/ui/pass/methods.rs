//! Methods: every kind of receiver, associated functions, generic and foreign-looking `impl`s.
#![deny(warnings)]

use std::sync::Arc;

use idempotent_tests::ui::*;

#[derive(Clone)]
struct Shop {
    name: String,
    sold: u32,
}

impl Shop {
    const EXTRA: u32 = 1;

    #[idempotent(key = "by_reference_<order_id>")]
    async fn by_reference(
        &self,
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<String, Failure> {
        Ok(format!("{}: {}", self.name, order_total(conn, order_id).await?))
    }

    #[idempotent(key = "by_mutable_reference_<order_id>")]
    pub async fn by_mutable_reference(
        &mut self,
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        self.sold += order_total(conn, order_id).await?;
        Ok(self.sold)
    }

    #[idempotent(key = "by_value_<order_id>", ignore(self))]
    async fn by_value(
        mut self,
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        self.sold += order_total(conn, order_id).await?;
        Ok(self.sold)
    }

    #[idempotent(key = "by_arc_<order_id>", ignore(self))]
    async fn by_arc(
        self: Arc<Self>,
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        Ok(order_total(conn, order_id).await? + self.sold)
    }

    #[idempotent(key = "by_typed_reference_<order_id>")]
    async fn by_typed_reference(
        self: &Arc<Self>,
        job: &mut Job<'_, Sqlite>,
        order_id: i64,
    ) -> Result<u32, Failure> {
        Ok(gateway::charge(job.key(), order_id).await? + self.sold)
    }

    #[idempotent(key = "associated_<order_id>")]
    async fn associated(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
        Ok(order_total(conn, order_id).await? + Self::EXTRA)
    }

    #[idempotent(key = "plainly_associated_<order_id>")]
    async fn plainly_associated(
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        order_total(conn, order_id).await
    }

    #[idempotent(key = "<self.name>_<order_id>", ignore(self))]
    async fn with_a_field_in_the_key(
        &self,
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        order_total(conn, order_id).await
    }

    #[idempotent(key = "with_a_guard_<order_id>", guard = Self::is_paid)]
    async fn with_a_guard(
        &self,
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        pay(conn, order_id).await?;
        Ok(self.sold)
    }

    async fn is_paid(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<bool> {
        paid(conn, order_id).await
    }
}

struct Till<T>(T);

impl<T: Clone + Send + Sync + Into<u32>> Till<T>
where
    T: 'static,
{
    #[idempotent(key = "generic_impl_<order_id>")]
    async fn generic_impl(
        &self,
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        Ok(order_total(conn, order_id).await? + self.0.clone().into())
    }

    #[idempotent(key = "needs_self_<order_id>")]
    async fn needs_self(&self, conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure>
    where
        Self: Sized,
    {
        order_total(conn, order_id).await
    }
}

struct Borrowing<'a>(&'a str);

impl<'a> Borrowing<'a> {
    #[idempotent(key = "borrowing_<order_id>")]
    async fn borrowing(
        &self,
        conn: &mut SqliteConnection,
        order_id: i64,
        prefix: &'a str,
    ) -> Result<String, Failure> {
        Ok(format!("{prefix}{}{}", self.0, order_total(conn, order_id).await?))
    }
}

fn main() {
    on_a_store(async |store| {
        let shop = Shop { name: "corner".to_owned(), sold: 3 };
        let shared = Arc::new(shop.clone());
        let by_reference = shop.by_reference(store, 42).await.unwrap();
        assert_eq!(by_reference.into_value(), "corner: 7");
        let by_mutable_reference = shop.clone().by_mutable_reference(store, 42).await.unwrap();
        assert_eq!(by_mutable_reference.into_value(), 10);
        assert_eq!(shop.clone().by_value(store, 42).await.unwrap().into_value(), 10);
        assert_eq!(Arc::clone(&shared).by_arc(store, 42).await.unwrap().into_value(), 10);
        assert_eq!(shared.by_typed_reference(store, 42).await.unwrap().into_value(), 45);
        assert_eq!(Shop::associated(store, 42).await.unwrap().into_value(), 8);
        assert_eq!(Shop::plainly_associated(store, 42).await.unwrap().into_value(), 7);
        let with_a_field = shop.with_a_field_in_the_key(store, 42).await.unwrap();
        assert_eq!(with_a_field.into_value(), 7);
        assert!(shop.with_a_guard(store, 42).await.unwrap().is_performed());

        let till = Till(2_u8);
        assert_eq!(till.generic_impl(store, 42).await.unwrap().into_value(), 9);
        assert_eq!(till.needs_self(store, 42).await.unwrap().into_value(), 7);
        let borrowing = Borrowing("€").borrowing(store, 42, "total ").await.unwrap();
        assert_eq!(borrowing.into_value(), "total €7");
    });
}
