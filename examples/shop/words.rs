//! An error in words.

/// The error and what caused it, without what one has said of the other already.
pub fn in_words(error: &anyhow::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !words.iter().any(|said| said.contains(&cause)) {
            words.push(cause);
        }
    }
    words.join(": ")
}
