//! Wrong use does not compile, and the compiler says why; every supported shape of a job does, and
//! runs.
//!
//! `tests/ui/fail/<topic>/<name>.stderr` is what the compiler of `rust-toolchain.toml` prints.
//! `TRYBUILD=overwrite cargo test -p idempotent-tests --test ui` writes them anew; a part of them
//! is tested with `-- trybuild=args/`. What each of them is there for is in `ui/catalogue/`.

#[test]
fn ui() {
    trybuild::TestCases::new().compile_fail("ui/fail/*/*.rs");
}

#[test]
fn supported() {
    trybuild::TestCases::new().pass("ui/pass/*.rs");
}
