//! Arguments that have a meaning only together, or only apart.

use crate::args::Args;
use crate::function::Function;
use crate::function::first::Kind;
use crate::problems::Problems;

/// Reports arguments that do not go together, or not with this kind of job.
pub(super) fn check(args: &Args, function: &Function, problems: &mut Problems) {
    if let Some(first) = &function.first {
        match first.kind {
            Kind::Transactional => transactional(args, problems),
            Kind::Leased => leased(args, problems),
        }
    }
    both(args, problems);
}

fn transactional(args: &Args, problems: &mut Problems) {
    let nothing_outside = "has nothing outside the database";
    let leased_only = [
        (
            args.lease.place(),
            "holds no lease, as a crash rolls everything back",
        ),
        (args.key_window.place(), nothing_outside),
        (args.reconcile.place(), nothing_outside),
    ];
    for (place, why) in leased_only {
        if let Some(name) = place {
            problems
                .report(
                    name,
                    format!("`{name}` has no meaning here: a transactional job {why}"),
                )
                .help(
                    "leave it out; or, if the job reaches outside the database, take \
                     `job: &mut Job<'_, …>` first",
                );
        }
    }
}

fn leased(args: &Args, problems: &mut Problems) {
    if let Some(name) = args.unique.place() {
        problems
            .report(
                name,
                "`unique` has no meaning here: what a leased job has done outside the database \
                 cannot be undone",
            )
            .help("use `guard`, or make the job transactional: `conn: &mut …Connection` first");
    }
}

fn both(args: &Args, problems: &mut Problems) {
    if let (Some(_), Some(retain)) = (args.once.place(), args.retain.place()) {
        problems
            .report(retain, "`once` and `retain` contradict each other")
            .help("a job that runs once ever must never forget its key: leave out one of the two");
    }
    if let Some(existing) = args.existing.place()
        && !args.guard.is_given()
        && !args.unique.is_given()
    {
        problems
            .report(
                existing,
                "`existing` is asked where a guard or a constraint says \"done\"",
            )
            .help("add `guard = …` or `unique = …`");
    }
    if let Some(missing) = args.missing.place()
        && !(args.guard.is_given() && args.existing.is_given())
    {
        problems
            .report(
                missing,
                "`missing` says that a guard may answer `None` beside `existing`",
            )
            .help("leave it out: without `existing`, every guard may");
    }
}

/// Whether the job can skip.
pub(super) fn can_skip(args: &Args) -> bool {
    let done = args.guard.is_given() || args.unique.is_given();
    args.skip_if.is_given() || done && (!args.existing.is_given() || args.missing.is_given())
}
