//! What the handlers work with.

use std::sync::Arc;

use idempotent_runtime::SqliteStore;

use crate::gateway::Gateway;
use crate::points::Points;

#[derive(Clone)]
pub struct App {
    pub store: SqliteStore,
    pub gateway: Gateway,
    pub points: Arc<Points>,
}
