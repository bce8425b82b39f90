//! Where a canonical form is written, to be digested.

use sha2::{Digest, Sha256};

/// The bytes of a form, or, of a long one, their digest so far.
///
/// Most are short, and one digest of them all costs half of one that is fed piece by piece.
pub(super) struct Form {
    short: [u8; SHORT],
    length: usize,
    long: Option<Sha256>,
}

const SHORT: usize = 96;

impl Form {
    pub(super) fn new() -> Self {
        Self {
            short: [0; SHORT],
            length: 0,
            long: None,
        }
    }

    #[inline]
    pub(super) fn update(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let end = self.length + bytes.len();
        match self.short.get_mut(self.length..end) {
            Some(free) if self.long.is_none() => {
                free.copy_from_slice(bytes);
                self.length = end;
            }
            _ => self.spill(bytes),
        }
    }

    #[cold]
    fn spill(&mut self, bytes: &[u8]) {
        self.long
            .get_or_insert_with(|| Sha256::new_with_prefix(&self.short[..self.length]))
            .update(bytes);
    }

    #[inline]
    pub(super) fn digest(&self) -> [u8; 32] {
        match &self.long {
            None => Sha256::digest(&self.short[..self.length]).into(),
            Some(hash) => hash.clone().finalize().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_all_that_was_written_however_it_came() {
        let text: Vec<u8> = (0..250).collect();
        for length in [0, 1, SHORT - 1, SHORT, SHORT + 1, 250] {
            for piece in [1, 7, SHORT, 250] {
                let mut form = Form::new();
                for bytes in text[..length].chunks(piece) {
                    form.update(bytes);
                }
                let whole: [u8; 32] = Sha256::digest(&text[..length]).into();
                assert_eq!(form.digest(), whole, "{length} by {piece}");
            }
        }
    }
}
