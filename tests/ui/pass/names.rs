//! Names that the expansion uses itself, and keywords.
#![deny(warnings)]

use idempotent_tests::ui::*;

#[allow(non_snake_case)]
#[idempotent(
    key = "locals_<__key>_<__run>_<store>",
    guard = __guard(__key),
    existing = __existing(__key),
    ignore(__IDEMPOTENT_SITE)
)]
async fn locals(
    __conn: &mut SqliteConnection,
    __key: i64,
    __run: i64,
    store: i64,
    __value: i64,
    __contract: i64,
    __inputs: i64,
    __error: i64,
    __watch: i64,
    __again_0: i64,
    __IDEMPOTENT_SITE: i64,
) -> Result<i64, Failure> {
    pay(__conn, __key).await?;
    Ok(__key + __run + store + __value + __contract + __inputs + __error + __watch + __again_0
        + __IDEMPOTENT_SITE)
}

async fn __guard(conn: &mut SqliteConnection, order_id: i64) -> sqlx::Result<bool> {
    paid(conn, order_id).await
}

async fn __existing(_conn: &mut SqliteConnection, order_id: i64) -> Result<i64, Failure> {
    Ok(order_id)
}

/// A function of the user's that is named as the nested one could be.
async fn body(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

#[idempotent(key = "calls_body_<order_id>")]
async fn calls_body(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    body(conn, order_id).await
}

#[idempotent(key = "keywords_<type>_<r#match>", ignore(r#fn))]
async fn keywords(
    r#async: &mut SqliteConnection,
    r#type: i64,
    r#match: u32,
    r#fn: u8,
) -> Result<u32, Failure> {
    let _ = r#fn;
    Ok(order_total(r#async, r#type).await? + r#match)
}

#[idempotent(key = "raw_name_<order_id>")]
async fn r#try(conn: &mut SqliteConnection, order_id: i64) -> Result<u32, Failure> {
    order_total(conn, order_id).await
}

/// What the expansion says by absolute paths, shadowed.
mod shadowed {
    #![allow(dead_code, unused_macros)]

    use idempotent_tests::ui::{Failure, SqliteConnection, idempotent, order_total};

    mod core {}
    mod std {}
    struct Option;
    struct Clone;
    enum Never {}
    trait Send {}
    trait Future {}
    macro_rules! module_path { () => { compile_error!("not this one") }; }

    #[idempotent(key = "shadowed_<order_id>")]
    pub async fn shadowed(
        conn: &mut SqliteConnection,
        order_id: i64,
    ) -> Result<u32, Failure> {
        order_total(conn, order_id).await
    }
}

fn main() {
    on_a_store(async |store| {
        let sum = locals(store, 42, 1, 1, 1, 1, 1, 1, 1, 1, 1).await.unwrap();
        assert_eq!(sum.into_value(), 51);
        assert_eq!(calls_body(store, 42).await.unwrap().into_value(), 7);
        assert_eq!(keywords(store, 42, 1, 0).await.unwrap().into_value(), 8);
        assert_eq!(r#try(store, 42).await.unwrap().into_value(), 7);
        assert_eq!(shadowed::shadowed(store, 42).await.unwrap().into_value(), 7);
    });
}
