//! PostgreSQL, as the proof has it.

use std::time::Duration;

use idempotent_runtime::Store;
use sqlx::Pool;
use sqlx::postgres::PgPoolOptions;

use super::{Left, ProofDatabase, Refusal};
use crate::proof::Result;
use crate::proof::checker::{Attempt, Row};
use crate::proof::jobs::{JobError, Kind, Run};
use crate::world::TestDatabase as _;

impl ProofDatabase for sqlx::Postgres {
    const CALLED: &'static str = "postgres";
    const TABLES: &'static str = "
        CREATE TABLE effects (k text NOT NULL, run text NOT NULL);
        CREATE TABLE runs (k text NOT NULL, run text NOT NULL, epoch bigint NOT NULL, fence bigint
            NOT NULL);
        CREATE TABLE marks (k text NOT NULL);
        CREATE TABLE probes (k text NOT NULL);
        CREATE TABLE claims (k text NOT NULL UNIQUE);";
    const REFUSALS: &'static str = "
        CREATE TABLE refusals (k text NOT NULL, how text NOT NULL);
        CREATE SEQUENCE asked;
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            told text;
        BEGIN
            SELECT how INTO told FROM refusals WHERE k = NEW.key;
            -- A number is given out once, whatever becomes of the transaction.
            IF NOT FOUND OR nextval('asked') > 1 THEN
                RETURN NEW;
            ELSIF told = 'gives way' THEN
                RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01';
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON idempotent_keys FOR EACH ROW EXECUTE FUNCTION refuse();";
    const ENDS_IDLE: bool = true;

    async fn open(url: &str, connections: u32, idle_limit: bool) -> sqlx::Result<Pool<Self>> {
        PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5))
            .after_connect(move |conn, _| {
                Box::pin(async move {
                    if idle_limit {
                        sqlx::raw_sql("SET idle_in_transaction_session_timeout = '1s'")
                            .execute(conn)
                            .await?;
                    }
                    Ok(())
                })
            })
            .connect(url)
            .await
    }

    async fn look_from(url: &str) -> sqlx::Result<Pool<Self>> {
        PgPoolOptions::new()
            .max_connections(2)
            .after_connect(|conn, _| {
                Box::pin(async move {
                    sqlx::raw_sql("SET lock_timeout = '200ms'")
                        .execute(conn)
                        .await
                        .map(drop)
                })
            })
            .connect(url)
            .await
    }

    async fn sessions_busy(pool: &Pool<Self>) -> sqlx::Result<i64> {
        sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity a WHERE datname = current_database() \
             AND pid <> pg_backend_pid() AND (state LIKE 'idle in transaction%' OR EXISTS \
               (SELECT FROM pg_locks l WHERE l.pid = a.pid AND (l.locktype = 'advisory' \
                  OR l.locktype IN ('transactionid', 'tuple') AND l.granted)))",
        )
        .fetch_one(pool)
        .await
    }

    async fn refuse(pool: &Pool<Self>, key: &str, how: Refusal) -> sqlx::Result<()> {
        sqlx::raw_sql("ALTER SEQUENCE asked RESTART")
            .execute(pool)
            .await?;
        sqlx::query(crate::postgres::sql(
            "INSERT INTO refusals (k, how) VALUES (?, ?)",
        ))
        .bind(key)
        .bind(how.name())
        .execute(pool)
        .await
        .map(drop)
    }

    in_its_words!(
        postgres,
        "SELECT key, status::bigint, fence, result FROM idempotent_keys"
    );
}
