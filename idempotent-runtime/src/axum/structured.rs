//! Structured field values, as far as a header of one string needs them: RFC 9651, which replaces
//! RFC 8941. An item is a bare item and parameters; parameters that mean nothing here are checked
//! and passed over, as the RFC says.

/// The string of an item, or nothing where the text is no item, or its value no string.
pub(super) fn string(text: &str) -> Option<String> {
    let mut rest = Rest(text.trim_matches(' '));
    let value = rest.string()?;
    rest.parameters()?;
    rest.0.is_empty().then_some(value)
}

/// What is left to read.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    /// Takes this character, if it is next.
    fn take(&mut self, wanted: char) -> Option<()> {
        self.0 = self.0.strip_prefix(wanted)?;
        Some(())
    }

    /// Takes the characters that are such.
    fn run(&mut self, such: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|c| !such(c)).unwrap_or(self.0.len());
        let (run, rest) = self.0.split_at(end);
        self.0 = rest;
        run
    }

    fn string(&mut self) -> Option<String> {
        self.take('"')?;
        let mut value = String::new();
        let mut chars = self.0.chars();
        loop {
            match chars.next()? {
                '"' => {
                    self.0 = chars.as_str();
                    return Some(value);
                }
                '\\' => value.push(chars.next().filter(|c| matches!(c, '"' | '\\'))?),
                c @ ' '..='~' => value.push(c),
                _ => return None,
            }
        }
    }

    fn parameters(&mut self) -> Option<()> {
        while self.take(';').is_some() {
            self.run(|c| c == ' ');
            self.peek()
                .filter(|&c| c.is_ascii_lowercase() || c == '*')?;
            self.run(|c| {
                c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '.' | '*')
            });
            if self.take('=').is_some() {
                self.bare_item()?;
            }
        }
        Some(())
    }

    fn bare_item(&mut self) -> Option<()> {
        match self.peek()? {
            '"' => self.string().map(drop),
            '?' => {
                self.take('?')?;
                self.take('0').or_else(|| self.take('1'))
            }
            ':' => {
                self.take(':')?;
                self.run(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='));
                self.take(':')
            }
            '@' => {
                self.take('@')?;
                self.number().filter(|whole| *whole).map(drop)
            }
            '%' => {
                self.take('%')?;
                self.string().map(drop)
            }
            '-' | '0'..='9' => self.number().map(drop),
            'A'..='Z' | 'a'..='z' | '*' => {
                self.run(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~:/".contains(c));
                Some(())
            }
            _ => None,
        }
    }

    /// A number; whether it is a whole one.
    fn number(&mut self) -> Option<bool> {
        let _ = self.take('-');
        let whole = self.run(|c| c.is_ascii_digit()).len();
        if self.take('.').is_none() {
            return (1..=15).contains(&whole).then_some(true);
        }
        let decimals = self.run(|c| c.is_ascii_digit()).len();
        ((1..=12).contains(&whole) && (1..=3).contains(&decimals)).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_taken_out_of_its_quotes() {
        for (text, value) in [
            (
                r#""8e03978e-40d5-43dd-bc93-6894a57f9324""#,
                "8e03978e-40d5-43dd-bc93-6894a57f9324",
            ),
            (r#"  "a b"  "#, "a b"),
            (r#""say \"a\\b\"""#, r#"say "a\b""#),
            (r#""""#, ""),
            (
                r#""a";v=1;*x;q="x;y";t=a/b;b=:aGk=:;y=?1;d=-1.5;at=@1700000000;u=%"f%c3%bc""#,
                "a",
            ),
        ] {
            assert_eq!(string(text).as_deref(), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_string_is_refused() {
        for text in [
            "",
            "8e03978e-40d5-43dd-bc93-6894a57f9324",
            "token",
            "1",
            r#""open"#,
            r#""a" "b""#,
            r#""a", "b""#,
            r#""bad \n escape""#,
            "\"tab\there\"",
            "\"é\"",
            r#""a";"#,
            r#""a";V=1"#,
            r#""a";v="#,
            r#""a";v=1.2345"#,
            r#""a" ;v=1"#,
            r#"'a'"#,
        ] {
            assert_eq!(string(text), None, "{text}");
        }
    }
}
