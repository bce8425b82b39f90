//! What a job's types must be: the value can be stored, the error can carry ours.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec;
use crate::error::Error;

/// What a job gives: it is stored, and decoded again for every retry.
///
/// Every type that is [`Serialize`] and [`DeserializeOwned`] is.
#[diagnostic::on_unimplemented(
    message = "the result `{Self}` cannot be stored for retries",
    label = "not `Serialize` and `Deserialize`, or borrows what it holds",
    note = "a job's result is stored, and a retry gets it back: `#[derive(serde::Serialize, serde::Deserialize)]`, and own what it holds (`String`, not `&str`)"
)]
pub trait Stored: Sized {
    // Sealed by what it returns, which nothing else can make: a supertrait would be reported in the
    // place of this trait, and in nobody's words.
    #[doc(hidden)]
    fn codec() -> Codec<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Stored for T {
    fn codec() -> Codec<Self> {
        Codec {
            round_trip: codec::round_trip,
            decode: |bytes| codec::decode(bytes).map_err(|problem| (problem.path, problem.what)),
        }
    }
}

/// How a job's error carries this crate's own errors: by `From`.
///
/// Every type that is `From<Error>` does, [`Error`] itself included.
#[diagnostic::on_unimplemented(
    message = "the error `{Self}` cannot carry what the runtime reports",
    label = "no `From<idempotent_runtime::Error>`",
    note = "if it is an enum of yours, add a variant to it, with thiserror: `#[error(transparent)] Idempotent(#[from] idempotent_runtime::Error)`",
    note = "if it is another crate's, such as `sqlx::Error`, wrap it in an enum of yours, or use `anyhow::Error`"
)]
pub trait FromRuntime: Sized {
    #[doc(hidden)]
    fn from_runtime(error: Error) -> Self;
}

#[diagnostic::do_not_recommend]
impl<E: From<Error>> FromRuntime for E {
    fn from_runtime(error: Error) -> Self {
        error.into()
    }
}

/// How a value is stored and read. Made where the bounds are checked; what uses it has none.
#[doc(hidden)]
#[derive(Debug)]
pub struct Codec<T> {
    pub(crate) round_trip: RoundTrip<T>,
    pub(crate) decode: Decode<T>,
}

type RoundTrip<T> = fn(&T) -> Result<(T, Vec<u8>), String>;
/// Where it fails, it says in which field, and how.
type Decode<T> = fn(&[u8]) -> Result<T, (String, String)>;
