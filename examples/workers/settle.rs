//! What the queue is told of a handler that fails: try again, or never again.
//!
//! It has to stand inside of apalis' own bookkeeping, which keeps what it sees as
//! the job's status: so it is part of the handler, and not a layer around it. (The
//! layer `catch_panic` of apalis 1.0 is around it, and leaves the job `Running`.)

use std::panic::AssertUnwindSafe;

use apalis::prelude::{AbortError, BoxDynError, Data};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::app::App;
use crate::gateway::GatewayError;
use crate::payload::Payload;
use crate::pipe;
use crate::worker::{Event, Told};

#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the payment failed")]
    Gateway(#[from] GatewayError),
    #[error("there is nothing to charge")]
    NothingToCharge,
}

impl WorkError {
    /// Whether the same job, run again, can succeed without anybody changing anything.
    fn is_retryable(&self) -> bool {
        match self {
            Self::Idempotent(error) => error.is_retryable(),
            Self::Database(_) | Self::Gateway(_) => true,
            Self::NothingToCharge => false,
        }
    }
}

/// The handler, as apalis runs it.
///
/// A plain error is `Failed`: apalis fetches the job again, 25 times in all. An
/// [`AbortError`] is `Killed`, and it never does: for a poison job, which fails however often it is
/// run, and whose panic would take the whole worker down. (Not `RetryAfterError`: apalis-sqlite 1.0
/// leaves such a job pending and locked, and nobody fetches it.)
pub fn settled<T, H, F, R>(
    handler: H,
) -> impl Fn(T, Data<App>) -> BoxFuture<'static, Result<R, BoxDynError>> + Clone + Send + 'static
where
    T: Payload,
    H: Fn(T, Data<App>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<R, WorkError>> + Send + 'static,
    R: Serialize + Send,
{
    move |task, app| {
        let job = task.job();
        let handled = AssertUnwindSafe(handler(task, app)).catch_unwind();
        async move {
            let (told, settled) = match handled.await {
                Ok(Ok(answer)) => (Told::Answered(serde_json::to_value(&answer)?), Ok(answer)),
                Ok(Err(error)) if error.is_retryable() => (Told::Again, Err(error.into())),
                Ok(Err(error)) => (Told::Never, Err(AbortError::new(error).into())),
                Err(_) => (Told::Never, Err(AbortError::new("it panicked").into())),
            };
            pipe::say(&Event::Told { job, told });
            settled
        }
        .boxed()
    }
}
