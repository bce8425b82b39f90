//! MySQL and MariaDB, as the proof has them.

use std::time::Duration;

use idempotent_runtime::Store;
use sqlx::Pool;
use sqlx::mysql::MySqlPoolOptions;

use super::{Left, ProofDatabase, Refusal};
use crate::proof::Result;
use crate::proof::checker::{Attempt, Row};
use crate::proof::jobs::{JobError, Kind, Run};
use crate::world::TestDatabase as _;

impl ProofDatabase for sqlx::MySql {
    const CALLED: &'static str = "mysql";
    const TABLES: &'static str = "
        CREATE TABLE effects (k varchar(80) NOT NULL, run varchar(40) NOT NULL) ENGINE=InnoDB;
        CREATE TABLE runs (k varchar(80) NOT NULL, run varchar(40) NOT NULL, epoch bigint NOT NULL,
            fence bigint NOT NULL) ENGINE=InnoDB;
        CREATE TABLE marks (k varchar(80) NOT NULL) ENGINE=InnoDB;
        CREATE TABLE probes (k varchar(80) NOT NULL) ENGINE=InnoDB;
        CREATE TABLE claims (k varchar(80) NOT NULL UNIQUE) ENGINE=InnoDB;";
    const REFUSALS: &'static str = "
        CREATE TABLE refusals (k varchar(80) NOT NULL, how varchar(20) NOT NULL) ENGINE=InnoDB;
        CREATE SEQUENCE asked NOCACHE;
        CREATE TRIGGER refuse BEFORE INSERT ON idempotent_keys FOR EACH ROW BEGIN
            DECLARE told varchar(20);
            SELECT max(how) INTO told FROM refusals WHERE k = NEW.`key`;
            -- A number is given out once, whatever becomes of the transaction.
            IF told IS NOT NULL AND NEXT VALUE FOR asked = 1 THEN
                IF told = 'gives way' THEN
                    SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213;
                END IF;
                SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062;
            END IF;
        END;";
    const ENDS_IDLE: bool = true;

    async fn open(url: &str, connections: u32, idle_limit: bool) -> sqlx::Result<Pool<Self>> {
        MySqlPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(5))
            .after_connect(move |conn, _| {
                Box::pin(async move {
                    if idle_limit {
                        sqlx::raw_sql("SET SESSION idle_transaction_timeout = 1")
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
        MySqlPoolOptions::new()
            .max_connections(2)
            .after_connect(|conn, _| {
                Box::pin(async move {
                    sqlx::raw_sql("SET SESSION innodb_lock_wait_timeout = 1")
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
            "SELECT count(*) FROM information_schema.innodb_trx t \
             JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id \
             WHERE p.db = DATABASE() AND p.id <> CONNECTION_ID()",
        )
        .fetch_one(pool)
        .await
    }

    async fn refuse(pool: &Pool<Self>, key: &str, how: Refusal) -> sqlx::Result<()> {
        sqlx::raw_sql("ALTER SEQUENCE asked RESTART 1")
            .execute(pool)
            .await?;
        sqlx::query(crate::mysql::sql(
            "INSERT INTO refusals (k, how) VALUES (?, ?)",
        ))
        .bind(key)
        .bind(how.name())
        .execute(pool)
        .await
        .map(drop)
    }

    in_its_words!(
        mysql,
        "SELECT CONVERT(`key` USING utf8mb4), CAST(status AS SIGNED), fence, result FROM idempotent_keys"
    );
}
