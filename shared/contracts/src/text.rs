//! Cutting and cleaning texts that leave the process: reasons, attributes.

/// `text` cut to at most `bytes` bytes, on a character boundary.
#[must_use]
pub fn cut(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether SQS takes this character in a body or an attribute.
///
/// Source: SQS `SendMessage`: `#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to
/// #x10FFFF`.
#[must_use]
pub fn is_sendable(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{FFFD}' | '\u{10000}'..='\u{10FFFF}')
}

/// `text` as a dead letter's reason: unsendable characters replaced, cut to
/// [`DEAD_LETTER_REASON_BYTES`](crate::limits::DEAD_LETTER_REASON_BYTES), never empty.
#[must_use]
pub fn dead_letter_reason(text: &str) -> String {
    // Twice the limit is enough to clean: replacing never shortens by more than a character's size.
    let head = cut(text, crate::limits::DEAD_LETTER_REASON_BYTES * 2);
    let clean: String = head.chars().map(|c| if is_sendable(c) { c } else { '\u{FFFD}' }).collect();
    let clean = cut(&clean, crate::limits::DEAD_LETTER_REASON_BYTES);
    if clean.trim().is_empty() { "no reason given".to_owned() } else { clean.to_owned() }
}

/// JSON text with U+FFFE and U+FFFF written as escapes. They can only stand inside strings and
/// keys, so the value stays the same, and SQS takes the text.
#[must_use]
pub fn escape_unsendable(json: String) -> String {
    // Both characters are EF BF BE/BF in UTF-8; a body that holds neither is passed through.
    // A look for the first byte alone is many times as fast, and most bodies don't hold that either.
    if !json.as_bytes().contains(&0xEF) || !json.contains(['\u{FFFE}', '\u{FFFF}']) {
        return json;
    }
    json.replace('\u{FFFE}', "\\ufffe").replace('\u{FFFF}', "\\uffff")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_splits_a_character() {
        assert_eq!(cut("aéb", 2), "a");
        assert_eq!(cut("aéb", 3), "aé");
        assert_eq!(cut("aéb", 99), "aéb");
    }

    #[test]
    fn a_dead_letter_reason_is_bounded_sendable_and_never_empty() {
        let reason = dead_letter_reason(&"\u{FFFF}\u{1}é".repeat(100_000));
        assert!(reason.len() <= crate::limits::DEAD_LETTER_REASON_BYTES);
        assert!(reason.chars().all(is_sendable));
        assert_eq!(dead_letter_reason(" "), "no reason given");
    }

    #[test]
    fn escaping_keeps_the_value() {
        let raw = "{\"\u{FFFE}\":\"a\u{FFFF}b\\uffff\"}".to_owned();
        let escaped = escape_unsendable(raw.clone());
        assert!(escaped.chars().all(is_sendable));
        let (a, b): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(&raw).unwrap(), serde_json::from_str(&escaped).unwrap());
        assert_eq!(a, b);
    }
}
