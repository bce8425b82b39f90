//! The leased protocol: a committed claim with a lease, an outside effect, and a completion that only
//! the holder of the newest fence can make.

use stateright::{Model, Property};

/// The protocol among a number of workers, each of which calls the job until it has an answer.
#[derive(Debug, Clone)]
pub struct Leased {
    workers: usize,
    gateway: Gateway,
    without: Option<Without>,
}

/// The outside world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gateway {
    /// Charges once for each key.
    Honours,
    /// The same, and forgets keys after a while (`key_window`).
    Forgets,
    /// Charges whenever it is asked.
    Ignores,
}

/// A rule to leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// The fence: who completes need not be the newest attempt.
    Fence,
    /// The owner beside the fence: a fence alone starts over when a key is forgotten.
    OwnerAfterForget,
    /// The stable key in the outside call.
    Key,
    /// The refusal of a leftover attempt that the outside world may have forgotten.
    KeyWindow,
}

/// The database, the outside world, and the workers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    row: Option<Row>,
    effects: u8,
    /// Whether the guard would say that the work is done.
    marked: bool,
    charges: u8,
    /// Whether the outside world remembers the key.
    remembered: bool,
    /// Whether it has forgotten: the first attempt is older than its memory.
    window_passed: bool,
    workers: Vec<Worker>,
    answers: Vec<u8>,
    attempts: u8,
    /// The attempt that claimed last.
    newest: u8,
    /// Whether it claimed after the outside world had forgotten the key.
    late: bool,
    purges: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Row {
    done: bool,
    owner: u8,
    fence: u8,
    lapsed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Worker {
    Idle,
    Claimed { owner: u8, fence: u8 },
    Charged { owner: u8, fence: u8 },
    Committed { owner: u8 },
    Ended,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A worker claims a fresh key, takes over a lapsed one, replays, or is told to wait.
    Call(usize),
    /// The body reaches outside.
    Charge(usize),
    /// The completion transaction: the write, and the row to done under the fence.
    Complete(usize),
    /// The caller hears of it.
    Answer(usize),
    /// The holder renews its lease.
    Heartbeat(usize),
    /// The worker dies; a new process calls again.
    Crash(usize),
    /// The lease ends: time passes, the worker is stopped, or the clock jumps.
    Lapse,
    /// The outside world forgets the key.
    Forget,
    /// The key is purged after its retention.
    Purge,
    /// A person forgets an unfinished key (its lease has ended), and with it its fence.
    ForgetKey,
}

impl Leased {
    /// The protocol among `workers`.
    #[must_use]
    pub fn new(workers: usize, gateway: Gateway) -> Self {
        Self {
            workers,
            gateway,
            without: None,
        }
    }

    /// The protocol without one of its rules.
    #[must_use]
    pub fn without(mut self, rule: Without) -> Self {
        self.without = Some(rule);
        self
    }

    fn limit(&self) -> u8 {
        u8::try_from(self.workers).unwrap_or(u8::MAX) + 2
    }

    /// Whether an attempt still holds the row.
    fn holds(&self, row: Option<Row>, owner: u8, fence: u8) -> bool {
        row.is_some_and(|row| {
            !row.done
                && match self.without {
                    Some(Without::Fence) => true,
                    Some(Without::OwnerAfterForget) => row.fence == fence,
                    _ => row.fence == fence && row.owner == owner,
                }
        })
    }

    /// Whether no attempt is alive.
    fn is_quiet(state: &State) -> bool {
        let alive =
            |worker: &Worker| matches!(worker, Worker::Claimed { .. } | Worker::Charged { .. });
        !state.workers.iter().any(alive)
    }

    fn call(&self, state: &mut State, w: usize) -> Option<()> {
        state.workers[w] = match state.row {
            Some(row) if row.done => {
                state.answers.push(row.owner);
                Worker::Ended
            }
            // Busy: it calls again later.
            Some(row) if !row.lapsed => return None,
            Some(_) if state.window_passed && self.without != Some(Without::KeyWindow) => {
                Worker::Ended
            }
            row => {
                let fence = row.map_or(1, |row| row.fence + 1);
                state.attempts += 1;
                let owner = state.attempts;
                // The guard comes after the claim: where it says "done", no row is left behind.
                if state.marked {
                    Worker::Ended
                } else {
                    state.newest = owner;
                    state.late = state.window_passed;
                    state.row = Some(Row {
                        done: false,
                        owner,
                        fence,
                        lapsed: false,
                    });
                    Worker::Claimed { owner, fence }
                }
            }
        };
        Some(())
    }

    fn charge(&self, state: &mut State) {
        let known = state.remembered && self.without != Some(Without::Key);
        if self.gateway == Gateway::Ignores || !known {
            state.charges += 1;
        }
        state.remembered = true;
    }
}

impl Model for Leased {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            row: None,
            effects: 0,
            marked: false,
            charges: 0,
            remembered: false,
            window_passed: false,
            workers: vec![Worker::Idle; self.workers],
            answers: Vec::new(),
            attempts: 0,
            newest: 0,
            late: false,
            purges: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (w, worker) in state.workers.iter().enumerate() {
            match worker {
                Worker::Idle if state.attempts < self.limit() => actions.push(Action::Call(w)),
                Worker::Claimed { .. } => {
                    actions.extend([Action::Charge(w), Action::Heartbeat(w), Action::Crash(w)]);
                }
                Worker::Charged { .. } => {
                    actions.extend([Action::Complete(w), Action::Heartbeat(w), Action::Crash(w)]);
                }
                Worker::Committed { .. } => actions.extend([Action::Answer(w), Action::Crash(w)]),
                Worker::Idle | Worker::Ended => {}
            }
        }
        match state.row {
            Some(row) if row.done && state.purges == 0 => actions.push(Action::Purge),
            Some(row) if !row.done && !row.lapsed => actions.push(Action::Lapse),
            // The person has seen that nothing was charged: that is what `Forget` means.
            // Where the outside world forgets, no attempt may be asleep while the person looks: it
            // could wake, charge, and be forgotten before the next one.
            Some(row)
                if !row.done
                    && row.lapsed
                    && state.charges == 0
                    && state.purges == 0
                    && (self.gateway != Gateway::Forgets || Self::is_quiet(state)) =>
            {
                actions.push(Action::ForgetKey);
            }
            _ => {}
        }
        if self.gateway == Gateway::Forgets && state.remembered && !state.window_passed {
            actions.push(Action::Forget);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Call(w) => self.call(&mut state, w)?,
            Action::Charge(w) => {
                let Worker::Claimed { owner, fence } = state.workers[w] else {
                    return None;
                };
                // The outside world's memory is longer than any attempt: a worker that claimed before
                // it ended is not asleep for all of it.
                if state.window_passed && !(state.late && state.newest == owner) {
                    return None;
                }
                self.charge(&mut state);
                state.workers[w] = Worker::Charged { owner, fence };
            }
            Action::Complete(w) => {
                let Worker::Charged { owner, fence } = state.workers[w] else {
                    return None;
                };
                // The lease is not looked at here: only the fence decides.
                if self.holds(state.row, owner, fence) {
                    state.effects += 1;
                    state.marked = true;
                    state.row = state.row.map(|row| Row {
                        done: true,
                        owner,
                        ..row
                    });
                    state.workers[w] = Worker::Committed { owner };
                } else if self.without == Some(Without::Fence) {
                    state.effects += 1;
                    state.workers[w] = Worker::Committed { owner };
                } else {
                    // Lost: its writes are undone, and its caller calls again.
                    state.workers[w] = Worker::Idle;
                }
            }
            Action::Answer(w) => {
                let Worker::Committed { owner } = state.workers[w] else {
                    return None;
                };
                state.answers.push(owner);
                state.workers[w] = Worker::Ended;
            }
            Action::Heartbeat(w) => {
                let (Worker::Claimed { owner, fence } | Worker::Charged { owner, fence }) =
                    state.workers[w]
                else {
                    return None;
                };
                if self.holds(state.row, owner, fence) {
                    state.row = state.row.map(|row| Row {
                        lapsed: false,
                        ..row
                    });
                } else {
                    // The body is dropped.
                    state.workers[w] = Worker::Idle;
                }
            }
            Action::Crash(w) => state.workers[w] = Worker::Idle,
            Action::Lapse => {
                state.row = state.row.map(|row| Row {
                    lapsed: true,
                    ..row
                })
            }
            Action::Forget => {
                state.remembered = false;
                state.window_passed = true;
            }
            Action::Purge | Action::ForgetKey => {
                state.row = None;
                state.purges += 1;
            }
        }
        state.answers.sort_unstable();
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("the effect is there at most once", |_, state: &State| {
                state.effects <= 1
            }),
            Property::always("done means that the effect is there", |_, state: &State| {
                !state.row.is_some_and(|row| row.done) || state.effects == 1
            }),
            Property::always(
                "the effect means that it was charged",
                |_, state: &State| state.effects == 0 || state.charges > 0,
            ),
            Property::always("only the newest attempt completes", |_, state: &State| {
                state
                    .row
                    .is_none_or(|row| !row.done || row.owner == state.newest)
            }),
            Property::always("all answers are equal", |_, state: &State| {
                state.answers.windows(2).all(|pair| pair[0] == pair[1])
            }),
            Property::sometimes(
                "every caller gets an answer",
                |model: &Self, state: &State| state.answers.len() == model.workers,
            ),
            Property::sometimes("a takeover completes", |_, state: &State| {
                state.row.is_some_and(|row| row.done && row.fence > 1)
            }),
        ];
        if self.gateway == Gateway::Ignores {
            // What no system can promise: the docs say so in these words.
            properties.push(Property::sometimes(
                "without keys, an outside effect is at least once",
                |_, state: &State| state.charges > 1,
            ));
        } else {
            properties.push(Property::always(
                "charged at most once",
                |_, state: &State| state.charges <= 1,
            ));
        }
        properties
    }
}
