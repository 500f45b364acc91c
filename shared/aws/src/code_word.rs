//! A service's error code as a word that may stand in errors and logs.

/// Characters kept of a code: AWS's own are shorter.
const CHARS: usize = 64;

/// The code without anything that a code is not made of, so that nothing is quoted by accident.
pub(crate) fn code_word(code: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ' ');
    code.chars().filter(fits).take(CHARS).collect()
}
