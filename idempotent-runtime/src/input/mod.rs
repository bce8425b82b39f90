//! Inputs: what a call was given beside its key, fingerprinted so that the same key with other
//! inputs is noticed.

mod canonical;
mod form;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::Error;

/// The fingerprint of one named input: the first 16 bytes of a SHA-256 digest of its canonical form.
pub(crate) type Fingerprint = [u8; 16];

/// A by-value argument of a job: it is compared between attempts.
#[diagnostic::on_unimplemented(
    message = "the input `{Self}` cannot be compared between attempts",
    label = "not `Serialize`",
    note = "a by-value argument is an input of the job: derive `serde::Serialize` for it, take it by reference (`&`) if it is a dependency, or leave it out with `ignore(…)`"
)]
pub trait Input {
    #[doc(hidden)]
    fn fingerprint(&self, name: &'static str, into: &mut Inputs) -> Counted;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + ?Sized> Input for T {
    fn fingerprint(&self, name: &'static str, into: &mut Inputs) -> Counted {
        if let Err(problem) = canonical::fingerprint(self, name, &mut into.prints) {
            into.failed.get_or_insert_with(|| {
                Box::new(Error::Encode {
                    what: format!("the input `{name}`"),
                    problem: problem.to_string(),
                })
            });
        }
        Counted(())
    }
}

/// That an input was counted in. Only this crate makes one, which seals [`Input`]: a supertrait
/// would be reported in its place, and in nobody's words.
#[doc(hidden)]
#[derive(Debug)]
pub struct Counted(());

/// Collects the inputs of one call; what the attribute's expansion drives.
#[derive(Debug, Default)]
pub struct Inputs {
    prints: Vec<(Cow<'static, str>, Fingerprint)>,
    failed: Option<Box<Error>>,
}

impl Inputs {
    /// No inputs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn finish(self) -> Result<Fingerprints, Error> {
        match self.failed {
            Some(error) => Err(*error),
            None => Ok(Fingerprints::new(self.prints)),
        }
    }
}

/// The fingerprints of one call's inputs, in the form in which the ledger keeps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprints(Option<String>);

impl Fingerprints {
    fn new(mut prints: Vec<(Cow<'static, str>, Fingerprint)>) -> Self {
        if prints.is_empty() {
            return Self(None);
        }
        prints.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut text = String::with_capacity(prints.iter().map(|(name, _)| name.len() + 40).sum());
        for (name, print) in &prints {
            text.push(if text.is_empty() { '{' } else { ',' });
            // A name may be any text where a type's fields are renamed; text always encodes.
            text.push_str(&serde_json::to_string(name).unwrap_or_default());
            text.push_str(":\"");
            push_hex(&mut text, print);
            text.push('"');
        }
        text.push('}');
        Self(Some(text))
    }

    /// What to store: a JSON object, or nothing where there are no inputs.
    pub(crate) fn as_stored(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// The names whose fingerprints differ from the stored ones. A name on one side only is passed
    /// over, so that a deploy may add or drop an argument.
    pub(crate) fn differing(&self, stored: Option<&str>) -> Vec<String> {
        let (Some(ours), Some(theirs)) = (self.as_stored(), stored) else {
            return Vec::new();
        };
        if ours == theirs {
            return Vec::new();
        }
        let parse = |text: &str| -> BTreeMap<String, String> {
            serde_json::from_str(text).unwrap_or_default()
        };
        let theirs = parse(theirs);
        parse(ours)
            .into_iter()
            .filter(|(name, print)| theirs.get(name).is_some_and(|other| other != print))
            .map(|(name, _)| name)
            .collect()
    }
}

fn push_hex(out: &mut String, print: &Fingerprint) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";

    for byte in print {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn prints<T: Serialize>(value: &T) -> Fingerprints {
        let mut inputs = Inputs::new();
        value.fingerprint("x", &mut inputs);
        inputs.finish().unwrap()
    }

    #[derive(Serialize)]
    struct Order {
        id: u32,
        total: f64,
    }

    #[test]
    fn a_changed_field_is_named() {
        let stored = prints(&Order { id: 1, total: 2.0 });
        let now = prints(&Order { id: 1, total: 2.5 });
        assert_eq!(now.differing(stored.as_stored()), ["x.total"]);
    }

    #[test]
    fn they_are_stored_as_an_object_by_name() {
        #[derive(Serialize)]
        struct Odd {
            #[serde(rename = "b\"\n")]
            b: u8,
            a: u8,
        }
        let mut inputs = Inputs::new();
        Odd { b: 1, a: 2 }.fingerprint("odd", &mut inputs);
        1_u8.fingerprint("amount", &mut inputs);
        let stored = inputs.finish().unwrap();
        let object: BTreeMap<String, String> =
            serde_json::from_str(stored.as_stored().unwrap()).unwrap();
        let names: Vec<_> = object.keys().map(String::as_str).collect();
        assert_eq!(names, ["amount", "odd.a", "odd.b\"\n"]);
        assert!(object["amount"] == object["odd.b\"\n"] && object["amount"].len() == 32);
        assert_eq!(
            serde_json::to_string(&object).unwrap(),
            stored.as_stored().unwrap()
        );
    }

    #[test]
    fn a_field_that_a_deploy_adds_is_passed_over() {
        #[derive(Serialize)]
        struct Order2 {
            total: f64,
            id: u32,
            note: &'static str,
        }
        let stored = prints(&Order { id: 1, total: 2.0 });
        let now = prints(&Order2 {
            total: 2.0,
            id: 1,
            note: "new",
        });
        assert!(now.differing(stored.as_stored()).is_empty());
        assert!(stored.differing(now.as_stored()).is_empty());
    }

    #[test]
    fn values_of_different_meaning_differ() {
        let all = [
            prints(&()),
            prints(&Some(())),
            prints(&0),
            prints(&"0"),
            prints(&-0.0),
            prints(&0.0),
            prints(&[0; 0]),
            prints(&[[0], [1]]),
            prints(&[[0, 1]]),
            prints(&("a", "bc")),
            prints(&("ab", "c")),
            prints(&HashMap::from([("a", 1)])),
            prints(&[("a", 1)]),
        ];
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert_eq!(i == j, a == b, "{i} against {j}");
            }
        }
    }

    #[test]
    fn wider_integers_are_the_same_value() {
        assert_eq!(prints(&5_u8), prints(&5_i64));
        assert_eq!(prints(&1.5_f32), prints(&1.5_f64));
    }

    proptest! {
        #[test]
        fn maps_are_the_same_in_any_order(pairs in prop::collection::hash_map(".{0,8}", any::<i64>(), 0..20)) {
            let mut other = HashMap::with_capacity(1000);
            let mut sorted: Vec<_> = pairs.iter().collect();
            sorted.sort();
            other.extend(sorted.into_iter().rev().map(|(k, v)| (k.clone(), *v)));
            prop_assert_eq!(prints(&pairs), prints(&other));
        }

        #[test]
        fn a_value_has_one_fingerprint(value in any::<(i64, Option<String>, Vec<u8>, char)>()) {
            prop_assert_eq!(prints(&value), prints(&value.clone()));
        }

        #[test]
        fn different_values_differ(a in any::<(String, Vec<u16>)>(), b in any::<(String, Vec<u16>)>()) {
            prop_assert_eq!(a == b, prints(&a) == prints(&b));
        }
    }
}
