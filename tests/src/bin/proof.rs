//! `cargo run --release -p idempotent-tests --bin proof -- --database …`: see docs/proof.md.

fn main() -> std::process::ExitCode {
    idempotent_tests::proof::program::main()
}
