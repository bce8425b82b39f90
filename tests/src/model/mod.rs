//! The protocol as a model, checked over every interleaving of workers, crashes, lapsing leases,
//! jumps of the clock and purges.
//!
//! The real code is tested elsewhere; here it is the *rules* that are, in every order that a small
//! number of workers can bring about. Each model can be built without one of its rules, and must
//! then fail: a check that cannot fail shows nothing.

pub mod leased;
pub mod transactional;

use stateright::{Checker, Model};

/// What a check of a model found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The model.
    pub name: &'static str,
    /// Distinct states that were visited: all there are.
    pub states: usize,
    /// The promises that some order of events breaks, by name.
    pub broken: Vec<&'static str>,
    /// What should be possible, and is not, by name.
    pub impossible: Vec<&'static str>,
}

impl Checked {
    /// Whether every promise holds, and the model is not too narrow to show anything.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.broken.is_empty() && self.impossible.is_empty()
    }
}

/// Visits every state of a model.
pub(crate) fn check<M>(name: &'static str, model: M) -> Checked
where
    M: Model + Send + Sync + 'static,
    M::State: std::hash::Hash + Send + Sync + PartialEq + std::fmt::Debug + Clone,
    M::Action: PartialEq + std::fmt::Debug + Clone,
{
    let checker = model.checker().spawn_bfs().join();
    let (mut broken, mut impossible) = (Vec::new(), Vec::new());
    for property in checker.model().properties() {
        let found = checker.discovery(property.name).is_some();
        match property.expectation {
            stateright::Expectation::Always if found => broken.push(property.name),
            stateright::Expectation::Sometimes if !found => impossible.push(property.name),
            _ => {}
        }
    }
    Checked {
        name,
        states: checker.unique_state_count(),
        broken,
        impossible,
    }
}

/// Checks both protocols at a size: with it grow the workers and the attempts.
#[must_use]
pub fn check_all(workers: usize) -> Vec<Checked> {
    use leased::{Gateway, Leased};
    use transactional::Transactional;

    vec![
        check("transactional", Transactional::new(workers)),
        check(
            "leased, gateway honours keys",
            Leased::new(workers, Gateway::Honours),
        ),
        check(
            "leased, gateway forgets keys",
            Leased::new(workers, Gateway::Forgets),
        ),
        check(
            "leased, gateway ignores keys",
            Leased::new(workers, Gateway::Ignores),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::leased::{Gateway, Leased, Without as WithoutLeased};
    use super::transactional::{Transactional, Without};
    use super::*;

    #[test]
    fn the_protocols_keep_their_promises() {
        for checked in check_all(2) {
            assert!(checked.holds(), "{checked:?}");
            assert!(checked.states > 50, "{checked:?}");
        }
    }

    #[test]
    fn without_a_rule_a_promise_breaks() {
        let broken =
            |without| check("leased", Leased::new(2, Gateway::Honours).without(without)).broken;
        assert!(broken(WithoutLeased::Fence).contains(&"the effect is there at most once"));
        assert!(
            broken(WithoutLeased::OwnerAfterForget).contains(&"only the newest attempt completes")
        );
        assert!(broken(WithoutLeased::Key).contains(&"charged at most once"));
        let forgets = check(
            "leased",
            Leased::new(2, Gateway::Forgets).without(WithoutLeased::KeyWindow),
        );
        assert!(forgets.broken.contains(&"charged at most once"));

        let broken =
            |without| check("transactional", Transactional::new(2).without(without)).broken;
        assert!(broken(Without::Claim).contains(&"the effect is there at most once"));
        assert!(broken(Without::EscapeCheck).contains(&"the effect is there at most once"));
    }
}
