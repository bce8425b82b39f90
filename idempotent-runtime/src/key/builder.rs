//! Encodes a template and its arguments into a key, injectively.
//!
//! Within one template, two different lists of arguments give two different keys: a part encodes
//! the character that begins the text after it, so that the first such character ends the part,
//! and it encodes `%`, so that decoding is unambiguous. (Text that has to be encoded itself gets
//! another mark, `%.`, which no part contains.) A key that is too long ends in a digest of
//! the whole, behind `%~`, which no encoded part contains.

use sha2::{Digest, Sha256};

use super::part::push_escaped;
use super::{Key, KeyWriter, MAX_KEY_BYTES};
use crate::error::Error;

/// Builds the key of one call; what the attribute's expansion drives.
#[derive(Debug, Default)]
pub struct KeyBuilder {
    text: String,
    empty: Option<&'static str>,
    /// The part that was begun last, and where.
    begun: Option<(&'static str, usize)>,
}

impl KeyBuilder {
    /// An empty key.
    #[must_use]
    pub fn new() -> Self {
        Self {
            text: String::with_capacity(48),
            empty: None,
            begun: None,
        }
    }

    /// Adds the template's own text.
    pub fn text(&mut self, text: &str) {
        self.end_part();
        // With a mark of its own: a part before it never contains `%.`, so the text still ends it.
        push_escaped(&mut self.text, text, None, "%.");
    }

    /// Begins an argument's part, for `KeyPart::write`. That is called by its path, as in
    /// `<f64 as KeyPart>::write`: the compiler then reports a type that cannot be part of a key at
    /// that type, and nowhere else.
    ///
    /// `stop` is the character that begins the text after it, if any.
    pub fn part(&mut self, name: &'static str, stop: Option<char>) -> KeyWriter<'_> {
        self.end_part();
        self.begun = Some((name, self.text.len()));
        KeyWriter::new(&mut self.text, stop)
    }

    fn end_part(&mut self) {
        if let Some((name, start)) = self.begun.take()
            && self.text.len() == start
        {
            self.empty.get_or_insert(name);
        }
    }

    /// Adds what is encoded already.
    pub(super) fn encoded(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The key.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyKeyPart`] where an argument was empty.
    pub fn finish(mut self, job: &str) -> Result<Key, Error> {
        self.end_part();
        match self.empty {
            None => Ok(self.finish_step()),
            Some(part) => Err(Error::EmptyKeyPart {
                job: job.to_owned(),
                part,
            }),
        }
    }

    /// The key of a step, whose name was checked before.
    pub(super) fn finish_step(self) -> Key {
        let mut text = self.text;
        // Databases and headers trim spaces at the end.
        if text.ends_with(' ') {
            text.pop();
            text.push_str("%20");
        }
        Key::from_encoded(shorten(text))
    }
}

/// Keeps a readable head of a text that is too long, and a digest of the whole.
fn shorten(mut text: String) -> String {
    use std::fmt::Write;

    const MARK: &str = "%~";
    const DIGEST_HEX: usize = 64;
    const HEAD: usize = MAX_KEY_BYTES - MARK.len() - DIGEST_HEX;

    if text.len() <= MAX_KEY_BYTES {
        return text;
    }
    let digest = Sha256::digest(text.as_bytes());
    // Do not cut an escape in two.
    let head = match text[..HEAD].rfind('%') {
        Some(at) if at + 3 > HEAD => at,
        _ => HEAD,
    };
    text.truncate(head);
    text.push_str(MARK);
    for byte in digest {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::KeyPart;
    use super::*;

    fn two(a: &str, b: &str) -> String {
        let mut key = KeyBuilder::new();
        a.write(&mut key.part("a", Some('_')));
        key.text("_");
        b.write(&mut key.part("b", None));
        key.finish("job").map(|k| k.as_str().to_owned()).unwrap()
    }

    #[test]
    fn plain_keys_read_as_written() {
        let mut key = KeyBuilder::new();
        key.text("order_");
        42_i64.write(&mut key.part("order_id", None));
        assert_eq!(key.finish("charge").unwrap().as_str(), "order_42");
    }

    #[test]
    fn separators_in_parts_do_not_collide() {
        assert_ne!(two("x_y", "z"), two("x", "y_z"));
        assert_eq!(two("x_y", "z"), "x%5Fy_z");
        assert_eq!(two("x", "y_z"), "x_y_z");
    }

    #[test]
    fn an_empty_part_is_refused_by_name() {
        let mut key = KeyBuilder::new();
        "".write(&mut key.part("region", None));
        let error = key.finish("charge").unwrap_err();
        assert!(matches!(error, Error::EmptyKeyPart { part: "region", .. }));
    }

    #[test]
    fn bytes_that_travel_badly_are_encoded() {
        assert_eq!(two("a\0b\nc", "é "), "a%00b%0Ac_%C3%A9%20");
    }

    #[test]
    fn a_step_has_no_other_works_key() {
        let key = |id: &str| {
            let mut key = KeyBuilder::new();
            key.text("order_");
            id.write(&mut key.part("id", None));
            key.finish("job").unwrap()
        };
        assert_eq!(key("42").step("charge").as_str(), "order_42/charge");
        assert_eq!(key("42/charge").as_str(), "order_42%2Fcharge");
        assert_ne!(key("42").step("a/b"), key("42").step("a").step("b"));
    }

    #[test]
    fn long_keys_keep_a_head_and_end_in_a_digest() {
        let long = two("order", &"x".repeat(10_000_000));
        assert_eq!(long.len(), MAX_KEY_BYTES);
        assert!(long.starts_with("order_xxx"));
        assert!(long.contains("%~"));
        let other = two("order", &format!("{}y", "x".repeat(9_999_999)));
        assert_ne!(long, other);
    }

    proptest! {
        #[test]
        fn different_arguments_give_different_keys(
            a in ".{1,300}", b in ".{1,300}", c in ".{1,300}", d in ".{1,300}",
        ) {
            prop_assert_eq!((&a, &b) == (&c, &d), two(&a, &b) == two(&c, &d));
        }

        // Small alphabets of the characters that matter find collisions that any Unicode hides.
        #[test]
        fn hostile_arguments_give_different_keys(
            a in "[_%~5F0 \0]{1,6}", b in "[_%~5F0 \0]{1,6}",
            c in "[_%~5F0 \0]{1,6}", d in "[_%~5F0 \0]{1,6}",
        ) {
            prop_assert_eq!((&a, &b) == (&c, &d), two(&a, &b) == two(&c, &d));
        }

        // A separator that is encoded itself still separates.
        #[test]
        fn any_separator_separates(
            sep in "[%é\n.~_2]{1,2}",
            a in "[%é\n.~_25]{1,4}", b in "[%é\n.~_25]{1,4}",
            c in "[%é\n.~_25]{1,4}", d in "[%é\n.~_25]{1,4}",
        ) {
            let key = |a: &str, b: &str| {
                let mut key = KeyBuilder::new();
                a.write(&mut key.part("a", sep.chars().next()));
                key.text(&sep);
                b.write(&mut key.part("b", None));
                key.finish("job").unwrap()
            };
            prop_assert_eq!((&a, &b) == (&c, &d), key(&a, &b) == key(&c, &d));
        }

        #[test]
        fn keys_are_printable_and_bounded(a in any::<String>(), b in any::<String>()) {
            prop_assume!(!a.is_empty() && !b.is_empty());
            let key = two(&a, &b);
            prop_assert!(key.len() <= MAX_KEY_BYTES);
            prop_assert!(key.bytes().all(|b| (b' '..=b'~').contains(&b)));
            prop_assert!(!key.ends_with(' '));
        }
    }
}
