#![doc = include_str!("docs/compiler_errors.md")]
