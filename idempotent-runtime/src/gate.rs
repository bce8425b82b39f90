//! Duplicates of one process queue here, and hold no connection while they wait.
//!
//! The gate only spares the pool: the database decides. Where each duplicate waited on the
//! database, seven of a pool of eight would wait for the eighth, which may need another connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::key::Key;

/// The keys that this process works on, of one store.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    held: Mutex<HashMap<Key, watch::Receiver<()>>>,
}

/// How a call came through the gate.
#[derive(Debug)]
pub(crate) enum Entry {
    /// First: others wait until the pass is dropped.
    First(Pass),
    /// Another call of this process held the key, and has let go: what it left can be read.
    After,
    /// Another call of this process still holds the key at the deadline.
    Late,
}

/// Holds the gate for a key; dropping it lets the others go.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Arc<Gate>,
    key: Key,
    _open: watch::Sender<()>,
}

impl Gate {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, watch::Receiver<()>>> {
        // The map is whole whatever panicked while it was held.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters, or waits for the one inside to leave.
    pub(crate) async fn enter(self: &Arc<Self>, key: &Key, deadline: Instant) -> Entry {
        let mut inside = match self.lock().entry(key.clone()) {
            std::collections::hash_map::Entry::Occupied(held) => held.get().clone(),
            std::collections::hash_map::Entry::Vacant(free) => {
                let (open, inside) = watch::channel(());
                free.insert(inside);
                return Entry::First(Pass {
                    gate: Arc::clone(self),
                    key: key.clone(),
                    _open: open,
                });
            }
        };
        // Nothing is ever sent: the wait ends when the sender is dropped.
        match timeout_at(deadline, inside.changed()).await {
            Ok(_) => Entry::After,
            Err(_) => Entry::Late,
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.gate.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::key::{KeyBuilder, KeyPart};

    fn key(n: i64) -> Key {
        let mut key = KeyBuilder::new();
        n.write(&mut key.part("n", None));
        key.finish("job").unwrap()
    }

    #[tokio::test]
    async fn the_second_waits_for_the_first_and_the_third_does_not_wait_for_another_key() {
        let gate = Arc::new(Gate::default());
        let soon = Instant::now() + Duration::from_secs(5);
        let Entry::First(pass) = gate.enter(&key(1), soon).await else {
            panic!("the gate was open");
        };
        assert!(matches!(gate.enter(&key(2), soon).await, Entry::First(_)));
        assert!(matches!(
            gate.enter(&key(1), Instant::now()).await,
            Entry::Late
        ));
        let second = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { matches!(gate.enter(&key(1), soon).await, Entry::After) }
        });
        tokio::task::yield_now().await;
        drop(pass);
        assert!(second.await.unwrap());
        assert!(gate.lock().is_empty());
    }
}
