//! Keys: what identifies one piece of work, here and to other systems.

mod builder;
mod part;

use std::fmt;
use std::sync::Arc;

pub use builder::KeyBuilder;
pub use part::{KeyPart, KeyWriter};

/// The longest key, in bytes, a step's suffix included.
pub const MAX_KEY_BYTES: usize = 255;

/// The encoded key of one job call: printable ASCII, at most [`MAX_KEY_BYTES`] long.
///
/// The same call has the same key on every attempt, so it is what a body hands to a payment
/// gateway, a mail server, or anything else that drops duplicates by a key.
///
/// Keys are compared as bytes. They are not secret: no personal data belongs in them. Clones share the
/// text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(Arc<str>);

impl Key {
    pub(crate) fn from_encoded(text: String) -> Self {
        debug_assert!(text.is_ascii() && text.len() <= MAX_KEY_BYTES);
        Self(text.into())
    }

    /// The key of a step of this work, for systems outside: `order_42/charge`. No job's own key has a
    /// `/`, so it is no other work's.
    pub(crate) fn step(&self, name: &str) -> Self {
        let mut key = KeyBuilder::new();
        key.encoded(&self.0);
        key.encoded("/");
        name.write(&mut key.part("step", None));
        key.finish_step()
    }

    /// The key as text, fit for an HTTP header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key as a UUID (version 8, from a SHA-256 digest of the text), for systems that take no
    /// longer text; the same key gives the same UUID.
    #[cfg(feature = "uuid")]
    #[must_use]
    pub fn to_uuid(&self) -> uuid::Uuid {
        use sha2::{Digest, Sha256};

        let digest = Sha256::digest(self.0.as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
