//! What can stand in a key, and how it is written there.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

/// A value that can be part of a key.
///
/// Integers, `bool`, `char`, strings, and with the features `uuid`, `chrono` and `time` UUIDs,
/// dates and times of fixed meaning; references and smart pointers to them; a newtype or field-less
/// enum of yours through `#[derive(KeyPart)]`.
///
/// Not floats (`0.1 + 0.2` is not `0.3`), not `Option` (a missing value would be shared by many
/// calls), not collections, not `Instant` or `SystemTime` (another attempt has another one).
///
/// ```
/// use idempotent_runtime::KeyPart;
///
/// #[derive(KeyPart)]
/// struct OrderId(i64);
///
/// #[derive(KeyPart)]
/// enum Region { Eu, Us }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key",
    label = "not a key part",
    note = "a key part is an integer, `bool`, `char`, string, `Uuid`, date or time (features `uuid`, `chrono`, `time`), or a newtype or field-less enum of yours with `#[derive(KeyPart)]`",
    note = "and why not others: a float that is computed in another way differs in its last digit; `None` has no text of its own; a collection has no end that its text shows; `Instant` and `SystemTime` are others on a retry"
)]
pub trait KeyPart {
    /// Writes the value's text. Two different values of a type write different texts, and a value
    /// writes the same text in every version of the program.
    fn write(&self, part: &mut KeyWriter<'_>);
}

/// Where a [`KeyPart`] writes; it encodes what could not travel, or could end the part early.
#[derive(Debug)]
pub struct KeyWriter<'a> {
    out: &'a mut String,
    stop: Option<char>,
}

impl<'a> KeyWriter<'a> {
    pub(super) fn new(out: &'a mut String, stop: Option<char>) -> Self {
        Self { out, stop }
    }

    /// Adds text to the part.
    pub fn push_str(&mut self, text: &str) {
        push_escaped(self.out, text, self.stop, "%");
    }
}

impl Write for KeyWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

/// Encodes `%`, control characters, everything outside ASCII, `stop`, and `/`, behind which a step's
/// name comes, as `mark` and two digits.
pub(super) fn push_escaped(out: &mut String, text: &str, stop: Option<char>, mark: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";

    let stop = stop.map(|c| u8::try_from(c).unwrap_or(0));
    let plain = |b: u8| matches!(b, b' '..=b'~') && !matches!(b, b'%' | b'/') && Some(b) != stop;
    let mut rest = text.as_bytes();
    if rest.iter().all(|&b| plain(b)) {
        out.push_str(text);
        return;
    }
    while let Some(at) = rest.iter().position(|&b| !plain(b)) {
        // What comes before is ASCII, so the cut is on a character boundary.
        out.push_str(&String::from_utf8_lossy(&rest[..at]));
        let byte = rest[at];
        out.push_str(mark);
        out.push(char::from(HEX[usize::from(byte >> 4)]));
        out.push(char::from(HEX[usize::from(byte & 15)]));
        rest = &rest[at + 1..];
    }
    out.push_str(&String::from_utf8_lossy(rest));
}

// `do_not_recommend` everywhere: the message says what can be a part, and a list of a few of these
// would say it worse.
macro_rules! by_display {
    ($($ty:ty),* $(,)?) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyPart for $ty {
            fn write(&self, part: &mut KeyWriter<'_>) {
                // Writing to a `String` cannot fail.
                let _ = write!(part, "{self}");
            }
        }
    )*};
}

by_display!(bool, char);

macro_rules! integers {
    ($($ty:ty),* $(,)?) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyPart for $ty {
            fn write(&self, part: &mut KeyWriter<'_>) {
                part.push_str(itoa::Buffer::new().format(*self));
            }
        }

        #[diagnostic::do_not_recommend]
        impl KeyPart for NonZero<$ty> {
            fn write(&self, part: &mut KeyWriter<'_>) {
                KeyPart::write(&self.get(), part);
            }
        }
    )*};
}

integers!(
    i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize
);

#[cfg(feature = "uuid")]
by_display!(uuid::Uuid);

// The `Display` of these is ISO 8601 with all digits that are needed, and is stable.
#[cfg(feature = "chrono")]
by_display!(chrono::NaiveDate, chrono::NaiveTime, chrono::NaiveDateTime);

/// As an instant in UTC: two spellings of one instant are one key.
#[cfg(feature = "chrono")]
#[diagnostic::do_not_recommend]
impl<Tz: chrono::TimeZone> KeyPart for chrono::DateTime<Tz> {
    fn write(&self, part: &mut KeyWriter<'_>) {
        let utc = self.naive_utc().and_utc();
        part.push_str(&utc.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true));
    }
}

#[cfg(feature = "time")]
by_display!(time::Date, time::Time, time::PrimitiveDateTime);

/// As an instant in UTC: two spellings of one instant are one key.
#[cfg(feature = "time")]
#[diagnostic::do_not_recommend]
impl KeyPart for time::OffsetDateTime {
    fn write(&self, part: &mut KeyWriter<'_>) {
        let utc = self.to_offset(time::UtcOffset::UTC);
        KeyPart::write(&time::PrimitiveDateTime::new(utc.date(), utc.time()), part);
        part.push_str("Z");
    }
}

#[diagnostic::do_not_recommend]
impl KeyPart for str {
    fn write(&self, part: &mut KeyWriter<'_>) {
        part.push_str(self);
    }
}

#[diagnostic::do_not_recommend]
impl KeyPart for String {
    fn write(&self, part: &mut KeyWriter<'_>) {
        part.push_str(self);
    }
}

macro_rules! by_target {
    ($($ty:ty),* $(,)?) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: KeyPart + ?Sized> KeyPart for $ty {
            fn write(&self, part: &mut KeyWriter<'_>) {
                T::write(self, part);
            }
        }
    )*};
}

by_target!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

#[diagnostic::do_not_recommend]
impl<T: KeyPart + ToOwned + ?Sized> KeyPart for Cow<'_, T> {
    fn write(&self, part: &mut KeyWriter<'_>) {
        T::write(self, part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &impl KeyPart) -> String {
        let mut out = String::new();
        value.write(&mut KeyWriter::new(&mut out, None));
        out
    }

    #[test]
    fn parts_read_as_people_write_them() {
        assert_eq!(written(&u128::MAX), u128::MAX.to_string());
        assert_eq!(written(&i64::MIN), "-9223372036854775808");
        assert_eq!(written(&NonZero::new(7_u64).unwrap()), "7");
        assert_eq!(written(&true), "true");
        assert_eq!(written(&'ß'), "%C3%9F");
        assert_eq!(written(&Arc::new(Box::new("a b"))), "a b");
        assert_eq!(written(&Cow::Borrowed("x")), "x");
    }

    #[cfg(feature = "chrono")]
    #[test]
    fn one_instant_is_one_key() {
        let utc = chrono::DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let tokyo = utc.with_timezone(&chrono::FixedOffset::east_opt(9 * 3600).unwrap());
        assert_eq!(written(&utc), "2023-11-14T22:13:20Z");
        assert_eq!(written(&utc), written(&tokyo));
    }

    #[cfg(feature = "time")]
    #[test]
    fn one_instant_is_one_key_in_time_too() {
        let utc = time::OffsetDateTime::from_unix_timestamp(1_700_000_000).unwrap();
        let tokyo = utc.to_offset(time::UtcOffset::from_hms(9, 0, 0).unwrap());
        assert_eq!(written(&utc), written(&tokyo));
    }
}
