//! What a run came to, one `name: value` a line.

use crate::proof::checker::{Promise, Violation};
use crate::proof::outages::Outages;
use crate::proof::soak::Soaked;
use crate::proof::sweep::{Swept, not_passed};

pub(super) fn print_sweep(swept: &Swept, whole: bool) -> bool {
    println!("sweep cases: {}", swept.cases);
    println!("sweep points passed: {}", swept.points.len());
    if whole {
        let left: Vec<_> = not_passed(&swept.points);
        println!("sweep points never passed: {}", left.len());
        left.iter().for_each(|point| println!("  {point}"));
    }
    println!("sweep cases not met: {}", swept.missed.len());
    swept.missed.iter().for_each(|case| println!("  {case}"));
    println!("sweep promises broken: {}", swept.broken.len());
    for (case, violation) in &swept.broken {
        println!("  {case}: {}", in_words(violation));
    }
    swept.broken.is_empty()
}

pub(super) fn print_outages(seen: &Outages) -> bool {
    println!("outage restarts: {}", seen.restarts);
    println!("outage cuts during or before COMMIT: {}", seen.cuts);
    println!("outages not met: {}", seen.missed.len());
    seen.missed.iter().for_each(|case| println!("  {case}"));
    println!("outage promises broken: {}", seen.broken.len());
    for (case, violation) in &seen.broken {
        println!("  {case}: {}", in_words(violation));
    }
    seen.broken.is_empty()
}

pub(super) fn print_soak(soaked: &Soaked) -> bool {
    let count = |promises: &[Promise]| {
        let broken = soaked.broken.iter();
        broken
            .filter(|found| promises.contains(&found.promise))
            .count()
    };
    let double = count(&[Promise::OneEffect, Promise::OneCharge]);
    let lost = count(&[
        Promise::DoneIffEffect,
        Promise::StillDone,
        Promise::Answered,
    ]);
    let unequal = count(&[Promise::EqualReplies]);
    println!("jobs: {}", soaked.jobs);
    println!("calls: {}", soaked.calls);
    println!("kills: {}", soaked.kills);
    println!("stops: {}", soaked.stops);
    println!("restarts: {}", soaked.restarts);
    println!("cuts: {}", soaked.cuts.0 + soaked.cuts.1);
    println!("cuts during COMMIT: {}", soaked.cuts.1);
    println!("gateway replies lost: {}", soaked.dropped);
    println!("charges repeated: {}", soaked.charged_again);
    println!("double effects: {double}");
    println!("lost effects: {lost}");
    println!("unequal replies: {unequal}");
    println!(
        "other promises broken: {}",
        soaked.broken.len() - double - lost - unequal
    );
    for violation in &soaked.broken {
        println!("  {}", in_words(violation));
    }
    println!(
        "longest takeover: {:.1} s",
        soaked.longest_takeover.as_secs_f64()
    );
    println!("soak took: {:.0} s", soaked.took.as_secs_f64());
    soaked.broken.is_empty()
}

pub(super) fn in_words(violation: &Violation) -> String {
    let Violation { promise, key, how } = violation;
    format!("\"{}\": {key}: {how}", promise.name())
}
