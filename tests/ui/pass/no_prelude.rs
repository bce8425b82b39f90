//! Without the prelude, and with the runtime under another path.
#![deny(warnings)]
#![no_implicit_prelude]

mod facade {
    pub use ::idempotent_runtime as rt;
}

#[::idempotent_runtime::idempotent(
    key = "bare_<order_id>",
    guard = ::idempotent_tests::ui::paid,
    skip_if = never,
    unique = payments(order_id),
    crate = facade::rt
)]
async fn bare(
    conn: &mut ::idempotent_tests::ui::SqliteConnection,
    order_id: i64,
    note: &str,
) -> ::std::result::Result<u32, ::idempotent_tests::ui::Failure> {
    let _ = note;
    ::idempotent_tests::ui::pay(&mut *conn, order_id).await?;
    ::idempotent_tests::ui::order_total(conn, order_id).await
}

#[::idempotent_runtime::idempotent(
    key = "bare_leased_<order_id>",
    reconcile = ::idempotent_tests::ui::look_up_outside
)]
async fn bare_leased(
    job: &mut facade::rt::Job<'_, facade::rt::Sqlite>,
    order_id: i64,
) -> ::std::result::Result<u32, ::idempotent_tests::ui::Failure> {
    ::idempotent_tests::ui::gateway::charge(job.key(), order_id).await
}

#[derive(::std::clone::Clone, facade::rt::KeyPart, ::serde::Serialize)]
#[key_part(crate = facade::rt)]
struct OrderId(i64);

#[derive(::std::clone::Clone, facade::rt::KeyPart, ::serde::Serialize)]
enum Source {
    Web,
}

#[::idempotent_runtime::idempotent(key = "parts_<order_id>_<source>", crate = ::idempotent_runtime)]
async fn parts(
    conn: &mut ::idempotent_tests::ui::SqliteConnection,
    order_id: OrderId,
    source: Source,
) -> ::std::result::Result<u32, ::idempotent_tests::ui::Failure> {
    let _ = source;
    ::idempotent_tests::ui::order_total(conn, order_id.0).await
}

async fn never(
    _conn: &mut ::idempotent_tests::ui::SqliteConnection,
    _order_id: i64,
) -> ::std::result::Result<bool, ::idempotent_tests::ui::Failure> {
    ::std::result::Result::Ok(false)
}

fn main() {
    ::idempotent_tests::ui::on_a_store(async |store| {
        let bare = bare(store, 42, "").await.unwrap();
        ::std::assert!(bare.is_performed());
        let bare_leased = bare_leased(store, 42).await.unwrap();
        ::std::assert!(bare_leased.is_performed());
        let parts = parts(store, OrderId(42), Source::Web).await.unwrap();
        ::std::assert!(parts.is_performed());
    });
}
