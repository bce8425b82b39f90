//! Durations: `500ms`, `30s`, `5m`, `24h`, `30d`. Rust lexes a number and its suffix as one token,
//! so they need no quotes.

use syn::parse::ParseStream;
use syn::{Ident, Lit, LitInt, LitStr, Token};

use super::cursor::{equals, rest_of_argument};
use super::{Millis, Window, example};
use crate::problems::Problems;

/// A hundred years: beyond it, dates in databases end before numbers do.
const LONGEST: Millis = 36_500 * DAY;
const DAY: Millis = 24 * 60 * 60 * 1000;

/// `lease = 30s`
pub(super) fn lease(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<Millis> {
    positive(
        name,
        "a lease of nothing would end before the job begins",
        input,
        problems,
    )
}

/// `retain = 30d`
pub(super) fn retain(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<Millis> {
    positive(
        name,
        "this would forget the key at once, and the next call would run again",
        input,
        problems,
    )
}

/// `wait = 5s`; `0s` means: fail at once
pub(super) fn wait(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<Millis> {
    equals(name, input, problems)?;
    duration(name, input, problems)
}

/// `key_window = 24h`, or `forever`
pub(super) fn window(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<Window> {
    let ahead = input.fork();
    if ahead.parse::<Token![=]>().is_ok() && ahead.peek(Ident) {
        equals(name, input, problems)?;
        if input
            .fork()
            .parse::<Ident>()
            .is_ok_and(|word| word == "forever")
        {
            input.parse::<Ident>().ok()?;
            return Some(Window::Forever);
        }
    } else {
        return positive(name, "no attempt could ever be repeated", input, problems)
            .map(Window::Millis);
    }
    duration(name, input, problems).map(Window::Millis)
}

fn positive(
    name: &Ident,
    why: &str,
    input: ParseStream,
    problems: &mut Problems,
) -> Option<Millis> {
    equals(name, input, problems)?;
    let ahead = input.fork();
    let millis = duration(name, input, problems)?;
    if millis > 0 {
        return Some(millis);
    }
    let value = ahead.parse::<Lit>().ok();
    problems
        .report(&value, format!("`{name}` is zero: {why}"))
        .help(format!("write `{}`", example(&name.to_string())));
    None
}

/// Reads a duration after the `=`.
fn duration(name: &Ident, input: ParseStream, problems: &mut Problems) -> Option<Millis> {
    if input.peek(LitInt) {
        let value = input.parse::<LitInt>().ok()?;
        return match millis(&value) {
            Ok(millis) => Some(millis),
            Err(Wrong { message, help }) => {
                let problem = problems.report(&value, message);
                problem.help(help.unwrap_or_else(|| units(name)));
                None
            }
        };
    }
    if input.peek(LitStr) {
        let text = input.parse::<LitStr>().ok()?;
        let inside = syn::parse_str::<LitInt>(text.value().trim());
        let meant = inside.ok().filter(|value| millis(value).is_ok());
        let problem = problems.report(&text, "a duration has no quotes");
        problem.help(match meant {
            Some(meant) => format!("write `{name} = {meant}`"),
            None => units(name),
        });
        return None;
    }
    let value = rest_of_argument(input);
    let whole = matches!(syn::parse2::<Lit>(value.clone()), Ok(Lit::Float(_)));
    let message = if whole {
        "a duration is a whole number and its unit"
    } else {
        "expected a duration: a number and its unit"
    };
    problems.report(&value, message).help(units(name));
    None
}

fn units(name: &Ident) -> String {
    format!(
        "the units are `ms`, `s`, `m`, `h` and `d`: `{}`",
        example(&name.to_string())
    )
}

struct Wrong {
    message: String,
    help: Option<String>,
}

fn millis(value: &LitInt) -> Result<Millis, Wrong> {
    let (digits, suffix) = (value.base10_digits(), value.suffix());
    if digits.starts_with('-') {
        return Err(Wrong {
            message: format!("`{value}` is less than nothing"),
            help: None,
        });
    }
    let unit = match suffix {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => DAY,
        "" => {
            return Err(Wrong {
                message: format!("`{value}` of what? a duration has a unit"),
                help: Some(format!(
                    "`{digits}s` is {digits} seconds; the units are `ms`, `s`, `m`, `h` and `d`"
                )),
            });
        }
        unknown => {
            let meant = meant(unknown).map(|unit| format!("write `{digits}{unit}`"));
            return Err(Wrong {
                message: format!("`{unknown}` is not a unit of time"),
                help: meant,
            });
        }
    };
    let number = digits.parse::<Millis>().ok();
    let millis = number.and_then(|number| number.checked_mul(unit));
    millis.filter(|millis| *millis <= LONGEST).ok_or(Wrong {
        message: format!("`{value}` is too long a time"),
        help: Some("at most a hundred years, `36500d`".to_owned()),
    })
}

/// The unit that another spelling means.
fn meant(suffix: &str) -> Option<&'static str> {
    match suffix.trim_start_matches('_').to_ascii_lowercase().as_str() {
        "ms" | "msec" | "msecs" | "milli" | "millis" => Some("ms"),
        "s" | "sec" | "secs" | "second" | "seconds" => Some("s"),
        "m" | "min" | "mins" | "minute" | "minutes" => Some("m"),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some("h"),
        "d" | "day" | "days" => Some("d"),
        _ => None,
    }
}
