//! The tests of wrong use, and the catalogue that says what each of them is there for.
//!
//! - [`catalogue`]: `ui/catalogue/<topic>.toml`: the rows, and the tests that show them
//! - [`wrong_use`]: `ui/fail/<topic>/<name>.rs`, and the `.stderr` beside it
//! - [`body`]: `ui/body/<name>.rs`: mistakes in the body, with the attribute and without it
//! - [`told`]: what the compiler tells, read from its JSON
//! - [`page`]: the page "Compiler errors" of the documentation, written from the two

pub mod body;
pub mod catalogue;
pub mod page;
pub mod told;
pub mod wrong_use;

use std::path::{Path, PathBuf};

/// A file of this package.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A file's text; one that cannot be read is a mistake in the repository.
///
/// # Panics
/// If the file cannot be read.
fn read(path: &Path) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{} cannot be read: {error}", path.display()))
}
