//! What is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use idempotent_runtime::Store;
use sqlx::Pool;
use tokio::sync::Barrier;

use crate::measure::{Pairs, Ratio, Round, round};
use crate::options::Options;
use crate::world::Bench;
use crate::{plot, report};

/// Finished keys that replays and skips go over.
const KNOWN: i64 = 1_000;

/// Order numbers that no round has used.
static NEXT: AtomicI64 = AtomicI64::new(10_000_000);

struct World<DB: Bench> {
    pool: Pool<DB>,
    store: Store<DB>,
}

impl<DB: Bench> Clone for World<DB> {
    fn clone(&self) -> Self {
        Self {
            pool: self.pool.clone(),
            store: self.store.clone(),
        }
    }
}

/// Runs every case that is asked for.
pub(crate) async fn run<DB: Bench>(options: &Options) -> anyhow::Result<()> {
    let (pool, _folder) = DB::fresh(&options.database).await?;
    let store = Store::new(pool.clone());
    store.migrate().await?;
    report::heading(DB::TITLE, &DB::version(&pool).await?);
    for sql in DB::fill(1, KNOWN as u64 + 1) {
        DB::run(&pool, sql).await?;
    }
    let world = World { pool, store };

    let mut curves = Vec::new();
    for case in [
        Case::Fresh,
        Case::FreshOther,
        Case::Leased,
        Case::Replay,
        Case::Skip,
    ] {
        if !options.wants(case.name()) || (case == Case::FreshOther && DB::TITLE != "postgres") {
            continue;
        }
        let mut curve = plot::Curve::new(case.name());
        for &tasks in &options.tasks {
            let pairs = compare(&world, case, tasks, options).await?;
            report::pairs(case.name(), tasks, options.jobs, &pairs);
            curve.push(tasks, options.jobs, &pairs);
        }
        curves.push(curve);
    }
    if options.wants("mixed") {
        mixed(&world, options).await?;
    }
    if options.wants("contention") {
        contention(&world, options).await?;
    }
    let mut growth = Vec::new();
    if options.wants("growth") {
        growth = grow(&world, options).await?;
    }
    if options.wants("purge") {
        purge(&world, options).await?;
    }
    if let Some(folder) = &options.plots {
        plot::throughput(
            &folder.join(format!("throughput-{}.svg", DB::TITLE)),
            DB::TITLE,
            &curves,
        )?;
        if !growth.is_empty() {
            plot::growth(
                &folder.join(format!("growth-{}.svg", DB::TITLE)),
                DB::TITLE,
                &growth,
            )?;
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Fresh,
    FreshOther,
    Leased,
    Replay,
    Skip,
}

impl Case {
    fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh-transactional",
            Self::FreshOther => "fresh-against-advisory",
            Self::Leased => "fresh-leased",
            Self::Replay => "replay-against-select",
            Self::Skip => "skip-against-guard",
        }
    }
}

/// One round of a case, by hand or with the attribute.
async fn one<DB: Bench>(
    world: &World<DB>,
    case: Case,
    by_hand: bool,
    tasks: usize,
    jobs: usize,
) -> anyhow::Result<Round> {
    let base = NEXT.fetch_add(jobs as i64, Ordering::Relaxed);
    let world = world.clone();
    round(tasks, jobs, move |n| {
        let world = world.clone();
        async move {
            let (fresh, known) = (base + n as i64, n as i64 % KNOWN + 1);
            match (case, by_hand) {
                (Case::Fresh, true) => DB::hand(&world.pool, fresh).await,
                (Case::FreshOther, true) => DB::hand_other(&world.pool, fresh).await,
                (Case::Fresh | Case::FreshOther, false) => DB::ours(&world.store, fresh).await,
                (Case::Leased, true) => DB::hand_leased(&world.pool, fresh).await,
                (Case::Leased, false) => DB::ours_leased(&world.store, fresh).await,
                (Case::Replay, true) => DB::bare(&world.pool, known).await,
                (Case::Replay, false) => DB::ours(&world.store, known).await,
                // Done in the business' own table, and unknown to the ledger.
                (Case::Skip, true) => DB::guard(&world.pool, -known).await,
                (Case::Skip, false) => DB::ours(&world.store, -known).await,
            }
        }
    })
    .await
}

async fn compare<DB: Bench>(
    world: &World<DB>,
    case: Case,
    tasks: usize,
    options: &Options,
) -> anyhow::Result<Pairs> {
    if case == Case::Skip {
        mark_done(world).await?;
    }
    let mut pairs = Pairs::default();
    // The first pair warms statements, pages and connections, and is not counted.
    for number in 0..=options.rounds {
        // Who goes first changes, for the second one finds a warmer cache.
        let hand_first = number % 2 == 0;
        let first = one(world, case, hand_first, tasks, options.jobs).await?;
        let second = one(world, case, !hand_first, tasks, options.jobs).await?;
        if number > 0 {
            let (hand, ours) = if hand_first {
                (first, second)
            } else {
                (second, first)
            };
            pairs.hand.push(hand);
            pairs.ours.push(ours);
        }
    }
    Ok(pairs)
}

async fn mark_done<DB: Bench>(world: &World<DB>) -> anyhow::Result<()> {
    let rows: Vec<String> = (1..=KNOWN).map(|n| format!("({})", -n)).collect();
    let clear = "DELETE FROM orders_done WHERE order_id < 0".to_owned();
    DB::run(&world.pool, clear).await?;
    DB::run(
        &world.pool,
        format!(
            "INSERT INTO orders_done (order_id) VALUES {}",
            rows.join(",")
        ),
    )
    .await
}

/// Nine fresh jobs in ten, and one replay: what the guess of the next call costs where it is wrong.
async fn mixed<DB: Bench>(world: &World<DB>, options: &Options) -> anyhow::Result<()> {
    for (name, replays) in [
        ("mixed-10-replays", 1),
        ("mixed-50-replays", 5),
        ("mixed-90-replays", 9),
    ] {
        let mut pairs = Pairs::default();
        for number in 0..=options.rounds {
            let mut both = Vec::new();
            for by_hand in [true, false] {
                let base = NEXT.fetch_add(options.jobs as i64, Ordering::Relaxed);
                let world = world.clone();
                both.push(
                    round(8, options.jobs, move |n| {
                        let world = world.clone();
                        async move {
                            let id = if n % 10 < replays {
                                n as i64 % KNOWN + 1
                            } else {
                                base + n as i64
                            };
                            if by_hand {
                                DB::hand(&world.pool, id).await
                            } else {
                                DB::ours(&world.store, id).await
                            }
                        }
                    })
                    .await?,
                );
            }
            if let (true, [hand, ours]) = (number > 0, &both[..]) {
                pairs.hand.push(hand.clone());
                pairs.ours.push(ours.clone());
            }
        }
        report::pairs(name, 8, options.jobs, &pairs);
    }
    Ok(())
}

/// 64 callers of one fresh key: from the moment all of them call, until the last has its answer.
async fn contention<DB: Bench>(world: &World<DB>, options: &Options) -> anyhow::Result<()> {
    const CALLERS: usize = 64;

    let mut ratios = Vec::new();
    let mut last = [Duration::ZERO; 2];
    for number in 0..=options.rounds {
        let mut walls = [Duration::ZERO; 2];
        for (wall, by_hand) in walls.iter_mut().zip([true, false]) {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            let barrier = Arc::new(Barrier::new(CALLERS + 1));
            let callers: Vec<_> = (0..CALLERS)
                .map(|_| {
                    let (world, barrier) = (world.clone(), Arc::clone(&barrier));
                    tokio::spawn(async move {
                        barrier.wait().await;
                        if by_hand {
                            DB::hand(&world.pool, id).await
                        } else {
                            DB::ours(&world.store, id).await
                        }
                    })
                })
                .collect();
            barrier.wait().await;
            let began = Instant::now();
            for caller in callers {
                caller.await??;
            }
            *wall = began.elapsed();
        }
        if number > 0 {
            ratios.push(walls[1].as_secs_f64() / walls[0].as_secs_f64());
            last = walls;
        }
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let at = |quarter: usize| ratios[(ratios.len() - 1) * quarter / 4];
    let ratio = Ratio {
        low: at(1),
        median: at(2),
        high: at(3),
    };
    println!(
        "{:<28} {CALLERS:>5} callers of one key: hand {}, ours {}  {:.2} ({:.2}..{:.2})",
        "contention",
        report::millis(last[0]),
        report::millis(last[1]),
        ratio.median,
        ratio.low,
        ratio.high
    );
    report::figure("contention-64", ratio);
    Ok(())
}

/// Fresh jobs and replays as the ledger grows: each size against the smallest.
async fn grow<DB: Bench>(world: &World<DB>, options: &Options) -> anyhow::Result<Vec<plot::Size>> {
    let mut sizes = Vec::new();
    let mut filled = KNOWN as u64 + 1;
    for &size in &options.sizes {
        if size > filled {
            for sql in DB::fill(filled, size) {
                DB::run(&world.pool, sql).await?;
            }
            filled = size;
        }
        let (mut fresh, mut replay) = (Vec::new(), Vec::new());
        for _ in 0..=options.rounds {
            fresh.push(one(world, Case::Fresh, false, 8, options.jobs).await?.wall);
            replay.push(one(world, Case::Replay, false, 8, options.jobs).await?.wall);
        }
        let each = |walls: Vec<Duration>| crate::measure::median(walls) / options.jobs as u32;
        let row = plot::Size {
            keys: size,
            fresh: each(fresh),
            replay: each(replay),
        };
        println!(
            "{:<28} {size:>9} keys: fresh {}, replay {}",
            "growth",
            report::millis(row.fresh),
            report::millis(row.replay)
        );
        sizes.push(row);
    }
    if let (Some(small), Some(large)) = (sizes.first(), sizes.last()) {
        let ratio =
            |of: fn(&plot::Size) -> Duration| of(large).as_secs_f64() / of(small).as_secs_f64();
        report::value("growth-fresh", format!("{:.3}", ratio(|size| size.fresh)));
        report::value("growth-replay", format!("{:.3}", ratio(|size| size.replay)));
    }
    Ok(sizes)
}

/// Forgets every key of the fill while jobs run: how long, and what it does to them.
async fn purge<DB: Bench>(world: &World<DB>, options: &Options) -> anyhow::Result<()> {
    let quiet = one(world, Case::Fresh, false, 8, options.jobs).await?;
    let expire = "UPDATE idempotent_keys SET forget_at = finished_at WHERE status = 1".to_owned();
    DB::run(&world.pool, expire).await?;
    let store = world.store.clone();
    let purging = tokio::spawn(async move {
        let began = Instant::now();
        store.purge().await.map(|keys| (keys, began.elapsed()))
    });
    let mut busy = Vec::new();
    while !purging.is_finished() {
        busy.push(one(world, Case::Fresh, false, 8, options.jobs).await?);
    }
    let (keys, took) = purging.await??;
    let worst = busy
        .iter()
        .map(|round| round.quantile(0.99))
        .max()
        .unwrap_or_default();
    println!(
        "{:<28} {keys} keys in {:.1} s; p99 of a job {} meanwhile, {} without",
        "purge",
        took.as_secs_f64(),
        report::millis(worst),
        report::millis(quiet.quantile(0.99))
    );
    report::value(
        "purge-keys-per-second",
        format!("{:.0}", keys as f64 / took.as_secs_f64()),
    );
    Ok(())
}
