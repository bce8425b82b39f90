//! The places at which a worker is killed: between every two steps, and between what a step does and
//! the record of it.

use std::io::{Read as _, Write as _};

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    Claimed,
    Reserving,
    Reserved,
    Charging,
    Charged,
    Shipping,
    Shipped,
    Closing,
    Answering,
}

impl Place {
    pub fn words(self) -> &'static str {
        match self {
            Self::Claimed => "before the first step",
            Self::Reserving => "reserved, not committed",
            Self::Reserved => "between reserve and charge",
            Self::Charging => "charged, not recorded",
            Self::Charged => "between charge and ship",
            Self::Shipping => "shipped, not recorded",
            Self::Shipped => "after the last step",
            Self::Closing => "closed, not committed",
            Self::Answering => "done, nobody told",
        }
    }
}

/// Where the worker of this run is to be killed, if anywhere.
pub struct Fate(pub Option<Place>);

/// What a worker says when it is there.
pub const THERE: &str = "there";

impl Fate {
    /// If this is the place, says so and stands still, all of the process, until it is killed. (Or
    /// until the parent is gone, which closes the pipe: no worker outlives it.)
    pub fn meet(&self, place: Place) {
        if self.0 == Some(place) {
            println!("{THERE}");
            let _ = std::io::stdout().flush();
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            std::process::exit(1);
        }
    }
}
