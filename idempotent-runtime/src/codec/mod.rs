//! Results as bytes: JSON, with what JSON would bend refused.

mod strict;

use serde::{Serialize, de::DeserializeOwned};

/// Why a value cannot be stored, or not read back; says no values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The field, as a path into the value; empty for the whole.
    pub(crate) path: String,
    /// What is wrong.
    pub(crate) what: String,
}

/// Encodes a value, or says why its stored form would not be the value.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, String> {
    strict::check(value)?;
    serde_json::to_vec(value).map_err(|error| error.to_string())
}

/// Decodes a value.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| Problem {
        path: match error.path().to_string() {
            whole if whole == "." => String::new(),
            path => path,
        },
        what: without_values(&error.inner().to_string()),
    })?;
    json.end().map_err(|error| Problem {
        path: String::new(),
        what: without_values(&error.to_string()),
    })?;
    Ok(value)
}

/// Encodes a value and decodes it back; what does not survive the way is refused.
pub(crate) fn round_trip<T: Serialize + DeserializeOwned>(
    value: &T,
) -> Result<(T, Vec<u8>), String> {
    let bytes = encode(value)?;
    let back: T = decode(&bytes).map_err(|problem| match &*problem.path {
        "" => format!("it does not decode again: {}", problem.what),
        path => format!("it does not decode again: at `{path}`: {}", problem.what),
    })?;
    // A set may come back in another order, so a difference in bytes alone is not one in value.
    if encode(&back)? != bytes && strict::unordered(&back) != strict::unordered(value) {
        return Err("it decodes as another value than it was".to_owned());
    }
    Ok((back, bytes))
}

/// Takes quoted values out of a message of serde's ("invalid type: string "secret", expected u32").
fn without_values(message: &str) -> String {
    const SHOWN_WHOLE: [&str; 2] = ["missing field", "duplicate field"];

    // "at line 1 column 9" says nothing about a stored result.
    let message = message.split(" at line ").next().unwrap_or(message);
    if SHOWN_WHOLE.iter().any(|start| message.starts_with(start)) {
        return message.to_owned();
    }
    let expected = message.rfind(", expected ").map(|at| &message[at..]);
    let head = match message.find(['"', '`']) {
        Some(at) => message[..at].trim_end(),
        None if expected.is_some() || message.starts_with("invalid") => {
            return message.to_owned();
        }
        // A message of somebody's own `Deserialize`: it may say anything.
        None => "refused by its `Deserialize`",
    };
    format!("{head}{}", expected.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Receipt {
        id: String,
        total: u32,
    }

    #[test]
    fn values_come_back_as_they_were() {
        fn check<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: T) {
            assert_eq!(round_trip(&value).unwrap().0, value);
        }
        check(());
        check(None::<u8>);
        check(0.1_f64 + 0.2);
        check(f64::MIN_POSITIVE / 3.0);
        check(i128::MIN);
        check(u128::MAX);
        check(("😀".to_owned(), vec![Some(1), None]));
        check((0..100).collect::<HashSet<_>>());
        check(BTreeMap::from([("a".to_owned(), false)]));
    }

    #[test]
    fn what_json_bends_is_refused() {
        assert!(encode(&f64::NAN).unwrap_err().contains("not finite"));
        assert!(encode(&[f32::INFINITY]).unwrap_err().contains("not finite"));
        assert!(encode(&Some(None::<u8>)).unwrap_err().contains("`Some`"));
        assert!(encode(&Some(())).unwrap_err().contains("`Some`"));
        let by_number = BTreeMap::from([(1, "a")]);
        assert!(encode(&by_number).unwrap_err().contains("string"));
    }

    #[test]
    fn another_value_is_refused() {
        #[derive(Serialize, Deserialize)]
        #[serde(untagged)]
        enum Either {
            A {
                x: u8,
            },
            #[serde(skip_deserializing)]
            B {
                x: u8,
                y: u8,
            },
        }
        assert!(round_trip(&Either::A { x: 1 }).is_ok());
        let problem = round_trip(&Either::B { x: 1, y: 2 }).err().unwrap();
        assert_eq!(problem, "it decodes as another value than it was");
    }

    #[test]
    fn a_problem_names_the_field_and_no_value() {
        let problem = decode::<Receipt>(br#"{"id":"r_1"}"#).unwrap_err();
        assert_eq!(problem.what, "missing field `total`");
        let problem = decode::<Vec<Receipt>>(br#"[{"id":"r_1","total":"secret, expected"}]"#);
        let problem = problem.unwrap_err();
        assert_eq!(problem.path, "[0].total");
        assert_eq!(problem.what, "invalid type: string, expected u32");
        let problem = decode::<u8>(b"1000").unwrap_err();
        assert_eq!(problem.what, "invalid value: integer, expected u8");
    }
}
