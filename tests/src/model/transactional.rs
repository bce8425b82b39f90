//! The transactional protocol: claim, guard, body and completion in one transaction.

use stateright::{Model, Property};

/// The protocol among a number of workers, each of which calls the job until it has an answer.
#[derive(Debug, Clone)]
pub struct Transactional {
    workers: usize,
    without: Option<Without>,
}

/// A rule to leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// The claim: the constraint that lets one transaction in and makes the others wait.
    Claim,
    /// The check that the transaction which completes is the one that claimed.
    EscapeCheck,
}

/// The database, as a fresh connection sees it, and the workers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    row: Row,
    /// Effects that are committed.
    effects: u8,
    workers: Vec<Worker>,
    /// The answers that callers got: the attempt that made each.
    answers: Vec<u8>,
    /// Attempts so far.
    attempts: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Row {
    None,
    /// Done, by this attempt.
    Done(u8),
    /// Committed as running, with no lease.
    InDoubt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Worker {
    Idle,
    /// Inside its transaction, before the body's write.
    Claimed(u8),
    /// After the body's write.
    Written(u8),
    /// The body committed by raw SQL: its write is there.
    Escaped(u8),
    /// Committed, and its caller has not heard of it.
    Committed(u8),
    /// Has its answer, or was told to ask a person.
    Ended,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A worker looks at the key: it claims, replays, or finds it in doubt.
    Call(usize),
    /// The body writes.
    Write(usize),
    /// The body ends the transaction by raw SQL.
    Escape(usize),
    /// The completion, and the commit.
    Complete(usize),
    /// The caller hears of it.
    Answer(usize),
    /// The worker dies; its connection with it.
    Crash(usize),
}

impl Transactional {
    /// The protocol among `workers`.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            without: None,
        }
    }

    /// The protocol without one of its rules.
    #[must_use]
    pub fn without(mut self, rule: Without) -> Self {
        self.without = Some(rule);
        self
    }

    fn is_claimed(state: &State) -> bool {
        state
            .workers
            .iter()
            .any(|worker| matches!(worker, Worker::Claimed(_) | Worker::Written(_)))
    }

    fn limit(&self) -> u8 {
        u8::try_from(self.workers).unwrap_or(u8::MAX) + 2
    }
}

impl Model for Transactional {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            row: Row::None,
            effects: 0,
            workers: vec![Worker::Idle; self.workers],
            answers: Vec::new(),
            attempts: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (w, worker) in state.workers.iter().enumerate() {
            match worker {
                // A duplicate waits at the claim while another transaction holds it.
                Worker::Idle => {
                    let waits = self.without != Some(Without::Claim) && Self::is_claimed(state);
                    if !waits && state.attempts < self.limit() {
                        actions.push(Action::Call(w));
                    }
                }
                Worker::Claimed(_) => actions.extend([Action::Write(w), Action::Crash(w)]),
                Worker::Written(_) => {
                    actions.extend([Action::Complete(w), Action::Escape(w), Action::Crash(w)]);
                }
                Worker::Escaped(_) => actions.extend([Action::Complete(w), Action::Crash(w)]),
                Worker::Committed(_) => actions.extend([Action::Answer(w), Action::Crash(w)]),
                Worker::Ended => {}
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Call(w) => {
                state.workers[w] = match state.row {
                    Row::Done(by) => {
                        state.answers.push(by);
                        Worker::Ended
                    }
                    Row::InDoubt => Worker::Ended,
                    Row::None => {
                        state.attempts += 1;
                        Worker::Claimed(state.attempts)
                    }
                };
            }
            Action::Write(w) => {
                let Worker::Claimed(attempt) = state.workers[w] else {
                    return None;
                };
                state.workers[w] = Worker::Written(attempt);
            }
            Action::Escape(w) => {
                let Worker::Written(attempt) = state.workers[w] else {
                    return None;
                };
                state.effects += 1;
                // The claim's row is committed with the write, as running.
                if self.without != Some(Without::EscapeCheck) {
                    state.row = Row::InDoubt;
                }
                state.workers[w] = Worker::Escaped(attempt);
            }
            Action::Complete(w) => match state.workers[w] {
                Worker::Written(attempt) => {
                    state.effects += 1;
                    state.row = Row::Done(attempt);
                    state.workers[w] = Worker::Committed(attempt);
                }
                // The check finds that this is another transaction: the error names a person.
                Worker::Escaped(_) => state.workers[w] = Worker::Ended,
                _ => return None,
            },
            Action::Answer(w) => {
                let Worker::Committed(attempt) = state.workers[w] else {
                    return None;
                };
                state.answers.push(attempt);
                state.workers[w] = Worker::Ended;
            }
            // What was not committed is gone, and a new process calls again.
            Action::Crash(w) => state.workers[w] = Worker::Idle,
        }
        state.answers.sort_unstable();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("the effect is there at most once", |_, state: &State| {
                state.effects <= 1
            }),
            Property::always("done means that the effect is there", |_, state: &State| {
                !matches!(state.row, Row::Done(_)) || state.effects == 1
            }),
            Property::always(
                "an effect is done or in doubt",
                |model: &Self, state: &State| {
                    model.without.is_some() || state.effects == 0 || state.row != Row::None
                },
            ),
            Property::always("all answers are equal", |_, state: &State| {
                state.answers.windows(2).all(|pair| pair[0] == pair[1])
            }),
            Property::sometimes(
                "every caller gets an answer",
                |model: &Self, state: &State| state.answers.len() == model.workers,
            ),
            Property::sometimes("a crash is followed by a run", |_, state: &State| {
                state.attempts > 1 && state.effects == 1
            }),
        ]
    }
}
