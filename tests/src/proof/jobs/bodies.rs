//! What the jobs do: the same text for each database.

/// The jobs on one database; `$module` has its `Db`, `Conn` and `sql`.
macro_rules! jobs {
    ($module:ident, $claims_key:literal) => {
        /// The jobs on this database.
        pub mod $module {
            use idempotent_runtime::{Job, Outcome, Store, idempotent};

            use crate::proof::jobs::{How, JobError, Kind, Run};
            use crate::$module::{Conn, Db, sql};

            /// Runs a job, and gives its value, or why it was skipped.
            pub async fn run(
                store: &Store<Db>,
                kind: Kind,
                n: u64,
                run: &Run,
            ) -> Result<(&'static str, String), JobError> {
                Ok(match kind {
                    Kind::Transactional => told(transactional(store, run, n).await?),
                    Kind::Joined => {
                        let mut tx = store.begin().await?;
                        let done = joined(store.within(&mut tx), run, n).await?;
                        tx.commit().await?;
                        told(done)
                    }
                    Kind::Bare => {
                        let mut conn = store.pool().acquire().await?;
                        told(bare(&mut *conn, run, n).await?)
                    }
                    Kind::Unique => told(unique(store, run, n).await?),
                    Kind::Leased => told(leased(store, run, n).await?),
                    Kind::Guarded => told(guarded(store, run, n).await?),
                    Kind::Steps => told(steps(store, run, n).await?),
                })
            }

            fn told<S>(outcome: Outcome<String, S>) -> (&'static str, String) {
                match outcome {
                    Outcome::Performed(value) => ("performed", value),
                    Outcome::Replayed(value) => ("replayed", value),
                    Outcome::Skipped(_) => ("skipped", String::new()),
                }
            }

            #[idempotent(key = "tx_<n>", wait = 1s)]
            async fn transactional(conn: &mut Conn, run: &Run, n: u64) -> Result<String, JobError> {
                work(conn, &Kind::Transactional.key(n), run).await
            }

            #[idempotent(key = "joined_<n>", wait = 1s)]
            async fn joined(conn: &mut Conn, run: &Run, n: u64) -> Result<String, JobError> {
                work(conn, &Kind::Joined.key(n), run).await
            }

            #[idempotent(key = "bare_<n>", wait = 1s)]
            async fn bare(conn: &mut Conn, run: &Run, n: u64) -> Result<String, JobError> {
                work(conn, &Kind::Bare.key(n), run).await
            }

            #[idempotent(key = "unique_<n>", unique = claims(k), wait = 1s)]
            async fn unique(conn: &mut Conn, run: &Run, n: u64) -> Result<String, JobError> {
                let key = Kind::Unique.key(n);
                sqlx::query(sql("INSERT INTO claims (k) VALUES (?)"))
                    .bind(&key)
                    .execute(&mut *conn)
                    .await?;
                work(conn, &key, run).await
            }

            #[idempotent(key = "leased_<n>", lease = 2s, wait = 1s)]
            async fn leased(job: &mut Job<'_, Db>, run: &Run, n: u64) -> Result<String, JobError> {
                outside_and_inside(job, &Kind::Leased.key(n), run).await
            }

            #[idempotent(key = "guarded_<n>", guard = marked, lease = 2s, wait = 1s)]
            async fn guarded(job: &mut Job<'_, Db>, run: &Run, n: u64) -> Result<String, JobError> {
                let key = Kind::Guarded.key(n);
                let signed = outside_and_inside(job, &key, run).await?;
                if run.how != How::LeavesNoMark {
                    sqlx::query(sql("INSERT INTO marks (k) VALUES (?)"))
                        .bind(&key)
                        .execute(job.tx().await?)
                        .await?;
                }
                Ok(signed)
            }

            async fn marked(conn: &mut Conn, n: u64) -> sqlx::Result<bool> {
                sqlx::query_scalar::<_, i64>(sql("SELECT count(*) FROM marks WHERE k = ?"))
                    .bind(Kind::Guarded.key(n))
                    .fetch_one(conn)
                    .await
                    .map(|marks| marks > 0)
            }

            #[idempotent(key = "steps_<n>", lease = 2s, wait = 1s)]
            async fn steps(job: &mut Job<'_, Db>, run: &Run, n: u64) -> Result<String, JobError> {
                let key = Kind::Steps.key(n);
                begun(job, &key, run).await?;
                job.tx_step("reserve", async |conn| {
                    leave(conn, &format!("{key}/reserve"), run).await?;
                    run.fail_if(How::FailsInStep)
                })
                .await??;
                let receipt = job
                    .step("charge", async |step| run.charge(&key, step.as_str()).await)
                    .await??;
                run.pause().await;
                leave(job.tx().await?, &key, run).await?;
                run.fail_if(How::Fails)?;
                Ok(run.signed(&key, &receipt))
            }

            async fn work(conn: &mut Conn, key: &str, run: &Run) -> Result<String, JobError> {
                run.begun(key);
                leave(conn, key, run).await?;
                run.pause().await;
                run.fail_if(How::Fails)?;
                match run.how {
                    How::RollsBack => sqlx::raw_sql("ROLLBACK").execute(conn).await.map(drop)?,
                    How::RollsBackAndBegins => {
                        sqlx::raw_sql("ROLLBACK; BEGIN")
                            .execute(conn)
                            .await
                            .map(drop)?;
                    }
                    _ => {}
                }
                Ok(run.signed(key, ""))
            }

            async fn outside_and_inside(
                job: &mut Job<'_, Db>,
                key: &str,
                run: &Run,
            ) -> Result<String, JobError> {
                begun(job, key, run).await?;
                let receipt = run.charge(key, job.key().as_str()).await?;
                run.pause().await;
                if run.how == How::IsOverrun {
                    sqlx::query(sql(concat!(
                        "UPDATE idempotent_keys SET fence = fence + 1 WHERE ",
                        $claims_key,
                        " = ?"
                    )))
                    .bind(job.key().as_str())
                    .execute(job.pool())
                    .await?;
                }
                let conn = job.tx().await?;
                leave(conn, key, run).await?;
                run.fail_if(How::Fails)?;
                if run.how == How::RollsBack {
                    sqlx::raw_sql("ROLLBACK").execute(conn).await?;
                }
                Ok(run.signed(key, &receipt))
            }

            /// The effect.
            async fn leave(conn: &mut Conn, key: &str, run: &Run) -> sqlx::Result<()> {
                sqlx::query(sql("INSERT INTO effects (k, run) VALUES (?, ?)"))
                    .bind(key)
                    .bind(&run.id)
                    .execute(conn)
                    .await
                    .map(drop)
            }

            /// Notes, at once, that an attempt is at work, and with which fence.
            async fn begun(job: &mut Job<'_, Db>, key: &str, run: &Run) -> sqlx::Result<()> {
                run.begun(key);
                sqlx::query(sql(
                    "INSERT INTO runs (k, run, epoch, fence) VALUES (?, ?, ?, ?)",
                ))
                .bind(key)
                .bind(&run.id)
                .bind(run.epoch)
                .bind(job.fence())
                .execute(job.pool())
                .await
                .map(drop)
            }
        }
    };
}

jobs!(sqlite, "key");
jobs!(postgres, "key");
jobs!(mysql, "`key`");
