//! Outcomes as they travel: what a queue keeps of a handler, or a log of a call.

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::{Outcome, Skip, SkipReason};

/// `{"outcome": "performed" | "replayed", "value": …}`, or `{"outcome": "skipped", "reason": …}`,
/// where a unique constraint adds its name as `constraint`.
impl<T: Serialize, S: SkipReason> Serialize for Outcome<T, S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let mut out = serializer.serialize_struct("Outcome", 2)?;
        match self {
            Self::Performed(value) => {
                out.serialize_field("outcome", "performed")?;
                out.serialize_field("value", value)?;
            }
            Self::Replayed(value) => {
                out.serialize_field("outcome", "replayed")?;
                out.serialize_field("value", value)?;
            }
            Self::Skipped(why) => {
                out.serialize_field("outcome", "skipped")?;
                out.serialize_field("reason", why.reason().as_str())?;
                if let Skip::Unique { constraint } = why.reason() {
                    out.serialize_field("constraint", constraint)?;
                }
            }
        }
        out.end()
    }
}

/// Reads back what [`Serialize`] wrote: queues that keep what a handler returns want both.
impl<'de, T: Deserialize<'de>, S: SkipReason> Deserialize<'de> for Outcome<T, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let value = || wire.value.ok_or_else(|| de::Error::missing_field("value"));
        match wire.outcome {
            Word::Performed => value().map(Self::Performed),
            Word::Replayed => value().map(Self::Replayed),
            Word::Skipped => {
                let reason = wire
                    .reason
                    .ok_or_else(|| de::Error::missing_field("reason"))?;
                let constraint = wire.constraint.unwrap_or_default();
                let skip = S::from_skip(reason.into_skip(constraint));
                let skip = skip.ok_or_else(|| de::Error::custom("this job cannot skip"));
                skip.map(Self::Skipped)
            }
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(bound = "T: Deserialize<'de>")]
struct Wire<T> {
    outcome: Word,
    /// `null` may be a value: it is missing only where it is not there.
    #[serde(default, deserialize_with = "there")]
    value: Option<T>,
    reason: Option<Reason>,
    constraint: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Performed,
    Replayed,
    Skipped,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reason {
    Guard,
    Missing,
    Condition,
    Unique,
}

impl Reason {
    fn into_skip(self, constraint: String) -> Skip {
        match self {
            Self::Guard => Skip::Guard,
            Self::Missing => Skip::Missing,
            Self::Condition => Skip::Condition,
            Self::Unique => Skip::Unique { constraint },
        }
    }
}

fn there<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Never;

    fn round_trip<T, S>(outcome: &Outcome<T, S>) -> serde_json::Value
    where
        T: Serialize + for<'de> Deserialize<'de> + PartialEq + std::fmt::Debug,
        S: SkipReason + PartialEq + std::fmt::Debug,
    {
        let json = serde_json::to_value(outcome).unwrap();
        let back: Outcome<T, S> = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(&back, outcome);
        json
    }

    #[test]
    fn every_outcome_is_read_back() {
        let unique = Skip::Unique {
            constraint: "one_a_month".to_owned(),
        };
        for skip in [Skip::Guard, Skip::Missing, Skip::Condition, unique] {
            round_trip::<u8, Skip>(&Outcome::Skipped(skip));
        }
        let json = round_trip::<_, Skip>(&Outcome::Performed("ch_1".to_owned()));
        let wanted = serde_json::json!({"outcome": "performed", "value": "ch_1"});
        assert_eq!(json, wanted);
        round_trip::<_, Never>(&Outcome::Replayed(7));
        // Values that are `null`.
        round_trip::<_, Skip>(&Outcome::Performed(()));
        round_trip::<Option<u8>, Skip>(&Outcome::Replayed(None));
    }

    #[test]
    fn what_is_no_outcome_is_refused() {
        for (json, says) in [
            (r#"{"outcome": "performed"}"#, "missing field `value`"),
            (r#"{"outcome": "skipped"}"#, "missing field `reason`"),
            (r#"{"outcome": "perhaps", "value": 1}"#, "unknown variant"),
            (
                r#"{"outcome": "skipped", "reason": "guard"}"#,
                "this job cannot skip",
            ),
        ] {
            let error = serde_json::from_str::<Outcome<u8, Never>>(json).unwrap_err();
            assert!(error.to_string().contains(says), "{json}: {error}");
        }
    }
}
