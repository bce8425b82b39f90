//! The tables that say which test shows what, held against the tests that there are.
//!
//! - [`sources`]: the names of all tests, as their sources list them.
//! - [`markdown`]: a table of a page, by its rows.
//! - [`shown`]: a table of faults and the tests that show each.
//! - [`exceptions`]: tests of the suite that a database does without.

pub mod exceptions;
pub mod markdown;
pub mod shown;
pub mod sources;
