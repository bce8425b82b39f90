#![allow(dead_code)]
mod codec;
mod error;
mod input;
mod key;
mod outcome;
pub use error::*; pub use outcome::*; pub use key::*; pub use input::{Input, Inputs};
