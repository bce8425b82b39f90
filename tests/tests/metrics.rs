//! A scrape of the metrics, as Prometheus gets them.

use std::collections::BTreeMap;
use std::time::Duration;

use idempotent_runtime::{Job, Sqlite, SqliteStore, idempotent, observability};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use sqlx::SqliteConnection;

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Idempotent(#[from] idempotent_runtime::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("refused")]
    Refused,
}

#[idempotent(key = "note_<id>", guard = missing_above, retain = 1ms)]
async fn note(_: &mut SqliteConnection, id: i64, text: &str) -> Result<i64, Failure> {
    tokio::time::sleep(Duration::from_millis(20)).await;
    match text {
        "wrong" => Err(Failure::Refused),
        _ => Ok(id),
    }
}

/// There is no record of a number above 100. The job leaves no mark that this would see.
async fn missing_above(conn: &mut SqliteConnection, id: i64) -> sqlx::Result<Option<bool>> {
    match id {
        101.. => Ok(None),
        _ => sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM noted WHERE id = ?)")
            .bind(id)
            .fetch_one(conn)
            .await
            .map(Some),
    }
}

#[idempotent(key = "charge_<id>", wait = 0s)]
async fn charge(job: &mut Job<'_, Sqlite>, id: i64, seconds: u64) -> Result<i64, Failure> {
    let reserved: Result<i64, Failure> = job.step("reserve", async |_| Ok(id)).await?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    reserved
}

#[idempotent(key = "escape_<id>")]
async fn escape(conn: &mut SqliteConnection, id: i64) -> Result<i64, Failure> {
    sqlx::raw_sql("COMMIT").execute(conn).await?;
    Ok(id)
}

/// The series of a scrape, by name and labels.
struct Scrape(BTreeMap<String, f64>);

impl Scrape {
    fn of(handle: &PrometheusHandle) -> Self {
        let text = handle.render();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let series = lines.filter_map(|line| line.rsplit_once(' '));
        Self(
            series
                .map(|(series, value)| (series.to_owned(), value.parse().expect(value)))
                .collect(),
        )
    }

    fn get(&self, series: &str) -> f64 {
        let all = || {
            self.0
                .keys()
                .map(|key| format!("\n{key}"))
                .collect::<String>()
        };
        *self
            .0
            .get(series)
            .unwrap_or_else(|| panic!("no {series} in{}", all()))
    }

    fn calls(&self, job: &str, outcome: &str) -> f64 {
        self.get(&format!(
            "idempotent_calls_total{{job=\"{job}\",outcome=\"{outcome}\"}}"
        ))
    }

    fn keys(&self, job: &str, state: &str) -> f64 {
        self.get(&format!(
            "idempotent_keys{{job=\"{job}\",state=\"{state}\"}}"
        ))
    }
}

/// Runs with a recorder of its own: everything is on this thread.
fn scraped(run: impl AsyncFnOnce(&PrometheusHandle, &SqliteStore)) {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    metrics::with_local_recorder(&recorder, || {
        observability::describe_metrics();
        runtime.block_on(async {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("metrics.db");
            let store = SqliteStore::open(path.to_str().expect("text"))
                .await
                .expect("a store");
            sqlx::raw_sql("CREATE TABLE noted (id INTEGER PRIMARY KEY)")
                .execute(store.pool())
                .await
                .expect("a table");
            run(&handle, &store).await;
            store.close().await;
        });
    });
}

#[test]
fn calls_are_counted_by_job_and_outcome() {
    scraped(async |handle, store| {
        // Its guard is not met after it ran.
        note(store, 1, "right").await.unwrap_err();
        note(store, 2, "wrong").await.unwrap_err();
        assert!(note(store, 101, "right").await.unwrap().is_skipped());
        assert!(charge(store, 1, 0).await.unwrap().is_performed());
        assert!(charge(store, 1, 0).await.unwrap().is_replayed());
        charge(store, 1, 1).await.unwrap_err();
        let scrape = Scrape::of(handle);
        assert_eq!(scrape.calls("note", "failed"), 2.0);
        assert_eq!(scrape.calls("note", "skipped"), 1.0);
        assert_eq!(scrape.calls("charge", "performed"), 1.0);
        assert_eq!(scrape.calls("charge", "replayed"), 1.0);
        assert_eq!(scrape.calls("charge", "input_mismatch"), 1.0);
        let text = handle.render();
        assert!(text.contains("# HELP idempotent_calls_total calls of idempotent jobs"));
        assert!(text.contains("# TYPE idempotent_calls_total counter"));
    });
}

#[test]
fn the_body_and_the_overhead_are_told_apart() {
    scraped(async |handle, store| {
        note(store, 2, "wrong").await.unwrap_err();
        assert!(note(store, 101, "right").await.unwrap().is_skipped());
        let scrape = Scrape::of(handle);
        let body = scrape.get("idempotent_body_seconds_sum{job=\"note\"}");
        assert!((0.02..2.0).contains(&body), "{body}");
        assert_eq!(
            scrape.get("idempotent_body_seconds_count{job=\"note\"}"),
            1.0
        );
        let count = "idempotent_overhead_seconds_count{job=\"note\",outcome=\"skipped\"}";
        assert_eq!(scrape.get(count), 1.0);
        let sum = "idempotent_overhead_seconds_sum{job=\"note\",outcome=\"failed\"}";
        assert!(scrape.get(sum) > 0.0);
    });
}

#[test]
fn attempts_that_are_cut_off_busy_or_taken_over_show() {
    scraped(async |handle, store| {
        let cut = tokio::time::timeout(Duration::from_millis(100), charge(store, 7, 9));
        assert!(cut.await.is_err());
        // The release of what was cut off is on its way.
        let mut again = charge(store, 7, 9).await;
        while matches!(
            again,
            Err(Failure::Idempotent(idempotent_runtime::Error::Busy { .. }))
        ) {
            tokio::time::sleep(Duration::from_millis(5)).await;
            again = tokio::time::timeout(Duration::from_millis(50), charge(store, 7, 9))
                .await
                .unwrap_or(Err(Failure::Refused));
        }
        let running = charge(store, 8, 1);
        let duplicate = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            charge(store, 8, 1).await
        };
        let (first, second) = tokio::join!(running, duplicate);
        assert!(first.unwrap().is_performed() && second.is_err());
        let scrape = Scrape::of(handle);
        assert!(scrape.calls("charge", "cut_off") >= 1.0);
        assert!(scrape.calls("charge", "busy") >= 1.0);
        assert!(scrape.get("idempotent_takeovers_total{job=\"charge\"}") >= 1.0);
        let steps = |outcome| {
            scrape.get(&format!(
                "idempotent_steps_total{{job=\"charge\",outcome=\"{outcome}\"}}"
            ))
        };
        assert_eq!(steps("recorded"), 2.0);
        assert!(steps("replayed") >= 1.0);
    });
}

#[test]
fn keys_in_doubt_are_a_gauge() {
    scraped(async |handle, store| {
        escape(store, 1).await.unwrap_err();
        assert!(charge(store, 1, 0).await.unwrap().is_performed());
        let scrape = Scrape::of(handle);
        assert_eq!(scrape.calls("escape", "transaction_escaped"), 1.0);
        assert_eq!(scrape.get("idempotent_doubts_total{job=\"escape\"}"), 1.0);
        assert_eq!(scrape.keys("escape", "in-doubt"), 1.0);

        store.stats().await.unwrap();
        let scrape = Scrape::of(handle);
        assert_eq!(scrape.keys("escape", "in-doubt"), 1.0);
        assert_eq!(scrape.keys("charge", "done"), 1.0);

        escape(store, 1).await.unwrap_err();
        store
            .resolve("escape_1", idempotent_runtime::Resolution::FORGET)
            .await
            .unwrap();
        store.stats().await.unwrap();
        let scrape = Scrape::of(handle);
        assert_eq!(scrape.calls("escape", "in_doubt"), 1.0);
        assert_eq!(scrape.keys("escape", "in-doubt"), 0.0);
    });
}
