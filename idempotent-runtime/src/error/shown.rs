//! A key in a message.

use std::fmt;

/// A key as errors and logs show it: the key itself, or a short digest of it where the store says
/// `log_keys(false)`.
#[derive(Clone, PartialEq, Eq)]
pub struct ShownKey(Box<str>);

impl ShownKey {
    /// A key shown as it is.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self(key.into())
    }

    /// A key shown as a digest: the same for the same key, and not the key.
    #[must_use]
    pub fn hidden(key: &str) -> Self {
        use sha2::{Digest, Sha256};
        use std::fmt::Write;

        let digest = Sha256::digest(key.as_bytes());
        let mut text = String::from("#");
        for byte in &digest[..6] {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text.into())
    }

    /// The text that is shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ShownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ShownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
