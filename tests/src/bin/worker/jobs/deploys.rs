//! Versions of jobs, as deploys bring them: a process runs one of each.

use idempotent_runtime::idempotent;
use serde::{Deserialize, Serialize};

use super::db::Conn;
use super::work::Failure;

/// Where a job stands before it moves.
pub mod before {
    use crate::outside::Outside;
    use idempotent_runtime::{Job, idempotent};

    use super::super::db::Db;
    use super::Failure;

    #[idempotent(key = "moved_<id>", name = "charge_order", lease = 30s)]
    pub async fn charge(
        job: &mut Job<'_, Db>,
        outside: &Outside,
        id: i64,
    ) -> Result<(String, i64), Failure> {
        Ok((outside.charge(job.key().as_str()).await, id))
    }
}

/// Where it stands afterwards, under its own name, and under another.
pub mod after {
    use crate::outside::Outside;
    use idempotent_runtime::{Job, idempotent};

    use super::super::db::Db;
    use super::Failure;

    #[idempotent(key = "moved_<id>", name = "charge_order", lease = 5s)]
    pub async fn charge(
        job: &mut Job<'_, Db>,
        outside: &Outside,
        id: i64,
    ) -> Result<(String, i64), Failure> {
        Ok((outside.charge(job.key().as_str()).await, id))
    }

    #[idempotent(key = "moved_<order>", name = "charge_order")]
    pub async fn collect(
        job: &mut Job<'_, Db>,
        outside: &Outside,
        order: i64,
    ) -> Result<(String, i64), Failure> {
        Ok((outside.charge(job.key().as_str()).await, order))
    }
}

/// What version 1 stored.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report1 {
    a: i64,
}

/// Version 2 needs more.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report2 {
    a: i64,
    b: i64,
}

/// Version 3 can do without.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report3 {
    a: i64,
    #[serde(default)]
    b: i64,
}

#[idempotent(key = "report_<id>", name = "report")]
pub async fn report_1(_conn: &mut Conn, id: i64) -> Result<Report1, Failure> {
    Ok(Report1 { a: id })
}

#[idempotent(key = "report_<id>", name = "report")]
pub async fn report_2(_conn: &mut Conn, id: i64) -> Result<Report2, Failure> {
    Ok(Report2 { a: id, b: 2 })
}

#[idempotent(key = "report_<id>", name = "report")]
pub async fn report_3(_conn: &mut Conn, id: i64) -> Result<Report3, Failure> {
    Ok(Report3 { a: id, b: 3 })
}
