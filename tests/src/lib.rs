//! What the tests share: how a suite runs on a database, and worlds to run in.
//!
//! A suite is written once, against the names that a database's module gives ([`sqlite`],
//! [`postgres`], [`mysql`]), and compiled for each of them by `tests/<database>.rs`.

pub mod chance;
pub mod diagnostics;
pub mod model;
pub mod mysql;
pub mod need;
pub mod postgres;
pub mod project;
#[cfg(feature = "proof")]
pub mod proof;
pub mod runner;
pub mod sqlite;
pub mod tables;
pub mod terminal;
pub mod ui;
pub mod worker;
pub mod world;

/// The README's examples compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
