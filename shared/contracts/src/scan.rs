//! One look at a payload's text, without recursion and without decoding anything.
//!
//! It measures the nesting, drops the white space between parts, and tells whether the text is plain:
//! holds nothing that a parser could still stumble over. Plain is proved, never guessed: on any doubt (an
//! escape `\u`, an escape in a key, an exponent, a number of many digits, two keys that look alike) the
//! text is not plain, and [`make_sense`](crate::payload) has the word.

use std::borrow::Cow;

use crate::limits::PAYLOAD_NESTING;

/// A text that was looked at.
#[derive(Debug)]
pub(crate) struct Scanned<'a> {
    /// Without white space between its parts.
    pub(crate) compacted: Cow<'a, str>,
    /// Every string decodes, every number fits, no key comes twice.
    pub(crate) is_plain: bool,
}

/// Without an exponent a number of fewer digits is below 1e300, and so within a 64-bit float.
const SURELY_FINITE: usize = 300;

/// Up to so many keys each is held against each; beyond that sorting is quicker.
const FEW_KEYS: usize = 32;

/// Looks at a valid JSON text; `None` when it nests deeper than [`PAYLOAD_NESTING`].
pub(crate) fn scan(text: &str) -> Option<Scanned<'_>> {
    let bytes = text.as_bytes();
    let mut spaceless = Spaceless { text, kept: String::new(), from: 0 };
    let mut keys = Keys::default();
    let (mut at, mut depth, mut is_plain) = (0, 0usize, true);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let string = StringEnd::find(bytes, at + 1);
                is_plain &= !string.has_unicode_escape;
                let key = bytes.get(at + 1..string.at).unwrap_or_default();
                at = string.at + 1;
                if is_colon(bytes, at) {
                    is_plain &= !string.has_escape;
                    keys.add(key);
                }
                continue;
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > PAYLOAD_NESTING {
                    return None;
                }
                keys.open(depth);
            }
            b'}' | b']' => {
                is_plain &= !keys.close(depth);
                depth = depth.saturating_sub(1);
            }
            b'-' | b'0'..=b'9' => {
                let end = at + number_length(bytes.get(at..).unwrap_or_default());
                let number = bytes.get(at..end).unwrap_or_default();
                is_plain &= number.len() < SURELY_FINITE && !number.iter().any(|b| matches!(b, b'e' | b'E'));
                at = end;
                continue;
            }
            b' ' | b'\t' | b'\n' | b'\r' => spaceless.drop_at(at),
            _ => {}
        }
        at += 1;
    }
    Some(Scanned { compacted: spaceless.finish(), is_plain })
}

fn number_length(bytes: &[u8]) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    bytes.iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len())
}

/// Whether a string that ends before `at` is a key.
fn is_colon(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Where a string ends, and what it holds.
struct StringEnd {
    /// The closing quote.
    at: usize,
    has_escape: bool,
    has_unicode_escape: bool,
}

impl StringEnd {
    /// Of the string whose first byte is at `at`, eight bytes a step.
    fn find(bytes: &[u8], mut at: usize) -> Self {
        let (mut has_escape, mut has_unicode_escape) = (false, false);
        loop {
            while let Some(chunk) = bytes.get(at..at + 8).and_then(|chunk| chunk.try_into().ok()) {
                let word = u64::from_le_bytes(chunk);
                let hits = zero_bytes(word ^ QUOTES) | zero_bytes(word ^ BACKSLASHES);
                if hits != 0 {
                    at += hits.trailing_zeros() as usize / 8;
                    break;
                }
                at += 8;
            }
            match bytes.get(at) {
                Some(b'"') | None => return Self { at, has_escape, has_unicode_escape },
                Some(b'\\') => {
                    has_escape = true;
                    has_unicode_escape |= bytes.get(at + 1) == Some(&b'u');
                    at += 2;
                }
                Some(_) => at += 1,
            }
        }
    }
}

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);

/// The high bit of each byte that is zero. Bits above the lowest one set may be wrong, that one never.
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// The text without its white space, copied only where there is some.
struct Spaceless<'a> {
    text: &'a str,
    kept: String,
    from: usize,
}

impl<'a> Spaceless<'a> {
    fn drop_at(&mut self, at: usize) {
        if self.kept.is_empty() {
            self.kept.reserve(self.text.len());
        }
        self.kept.push_str(self.text.get(self.from..at).unwrap_or_default());
        self.from = at + 1;
    }

    fn finish(mut self) -> Cow<'a, str> {
        let rest = self.text.get(self.from..).unwrap_or_default();
        if self.from == 0 || self.kept.is_empty() {
            return Cow::Borrowed(rest);
        }
        self.kept.push_str(rest);
        Cow::Owned(self.kept)
    }
}

/// Fingerprints of the keys of the objects that are open. Equal keys have equal ones; that two others
/// have too only costs a second look.
struct Keys {
    fingerprints: Vec<u64>,
    /// Where those of the object at a depth begin.
    starts: [usize; PAYLOAD_NESTING + 1],
}

impl Default for Keys {
    fn default() -> Self {
        Self { fingerprints: Vec::new(), starts: [0; PAYLOAD_NESTING + 1] }
    }
}

impl Keys {
    fn open(&mut self, depth: usize) {
        if let Some(start) = self.starts.get_mut(depth) {
            *start = self.fingerprints.len();
        }
    }

    fn add(&mut self, key: &[u8]) {
        if self.fingerprints.capacity() == 0 {
            self.fingerprints.reserve(16);
        }
        self.fingerprints.push(fingerprint(key));
    }

    /// Ends an object, or an array, which has no keys; whether two of its keys look alike.
    fn close(&mut self, depth: usize) -> bool {
        let start = self.starts.get(depth).copied().unwrap_or(0);
        let found = has_twins(self.fingerprints.get_mut(start..).unwrap_or_default());
        self.fingerprints.truncate(start);
        found
    }
}

fn has_twins(keys: &mut [u64]) -> bool {
    if keys.len() <= FEW_KEYS {
        return (1..keys.len()).any(|at| keys.split_at(at).0.contains(&keys[at]));
    }
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

fn fingerprint(key: &[u8]) -> u64 {
    /// Odd, and its bits look random: the golden ratio's.
    const MIX: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(MIX);
    let mut chunks = key.chunks_exact(8);
    let mut hash = key.len() as u64;
    for chunk in chunks.by_ref() {
        hash = mixed(hash, u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
    }
    let rest = chunks.remainder().iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    mixed(hash, rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_plain(text: &str) -> bool {
        scan(text).unwrap().is_plain
    }

    #[test]
    fn doubt_is_never_plain() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"[{"b":{"a":1,"c":[],"a":2}}]"#,
            r#"{"a" : 1, "a"
                : 2}"#,
            r#"{"s":"\ud800"}"#,
            r#"["x\\\u0041"]"#,
            r#"{"\n":1}"#,
            "[1e400]",
            "[-1E1]",
            &format!("[{}]", "9".repeat(SURELY_FINITE)),
            &format!("{{{}\"k7\":0}}", (0..100).map(|n| format!("\"k{n}\":0,")).collect::<String>()),
        ] {
            assert!(!is_plain(text), "{text}");
        }
        for text in [
            "1",
            "true",
            r#""e1 \" \\ \n","#,
            r#"{"a":{"a":[{"a":1},{"a":1.25}]},"b":false,"aa":null}"#,
            r#"{"a":"b","c":"b","b":"a"}"#,
            &format!("[{}]", "9".repeat(SURELY_FINITE - 1)),
            &format!("{{{}\"x\":0}}", (0..100).map(|n| format!("\"k{n}\":0,")).collect::<String>()),
        ] {
            assert!(is_plain(text), "{text}");
        }
    }

    proptest! {
        /// Whatever the text: what is called plain a parser reads, and finds no key twice in it.
        #[test]
        fn plain_is_proved(text in text()) {
            let plain = scan(&text).is_some_and(|scanned| scanned.is_plain);
            if plain {
                prop_assert_eq!(crate::payload::make_sense(&text), Ok(()), "{}", text);
            }
        }

        #[test]
        fn the_end_of_a_string_is_found_at_every_offset(
            before in "[a-z\u{e9}]{0,20}", escapes in prop::collection::vec("\\\\[\"\\\\nu]|[a-z]{0,9}", 0..6)
        ) {
            let inside = format!("{before}{}", escapes.concat());
            let text = format!("\"{inside}\" tail \"");
            let end = StringEnd::find(text.as_bytes(), 1);
            prop_assert_eq!(end.at, inside.len() + 1);
            prop_assert_eq!(end.has_escape, inside.contains('\\'));
        }
    }

    /// JSON as nobody would write it: few keys, so that they come twice, escapes and huge numbers.
    fn text() -> impl Strategy<Value = String> {
        let string = prop_oneof![
            Just(r#""a""#),
            Just(r#""b""#),
            Just(r#""\u0061""#),
            Just(r#""\ud800""#),
            Just(r#""a\\""#),
            Just(r#""a\"b""#),
            Just(r#""abcdefgh""#),
            Just(r#""abcdefghi""#),
            Just("\"\u{e9}\u{FFFF}\"")
        ]
        .prop_map(str::to_owned);
        let number = prop_oneof![
            Just("0"),
            Just("-1.5"),
            Just("1e400"),
            Just("1E-7"),
            Just("12345678901234567890123")
        ]
        .prop_map(str::to_owned);
        let space = prop_oneof![3 => Just(""), 1 => Just(" "), 1 => Just("\n\t")];
        let leaf = prop_oneof![3 => string.clone(), 3 => number, 1 => Just("null".to_owned())];
        leaf.prop_recursive(4, 30, 5, move |inner| {
            let member = (string.clone(), space.clone(), inner.clone())
                .prop_map(|(key, space, value)| format!("{key}{space}:{space}{value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(" ,"))),
                prop::collection::vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(","))),
            ]
        })
    }
}
