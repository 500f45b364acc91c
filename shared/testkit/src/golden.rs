//! Golden files: what others read of us, held to the byte.

use std::env;
use std::fs;
use std::path::Path;

/// Set to `write`, every golden file is written instead of compared.
pub const GOLDEN: &str = "EVENTLANE_GOLDEN";

/// Holds `actual` against the file at `path`, relative to the crate whose test this is; under
/// `cargo xtask golden` writes the file instead.
///
/// # Panics
/// When they differ, naming the first line that does, or when the file can't be read or written.
#[track_caller]
pub fn golden(path: impl AsRef<Path>, actual: &str) {
    let write = env::var_os(GOLDEN).is_some_and(|value| value == "write");
    hold(path.as_ref(), actual, write);
}

#[track_caller]
fn hold(path: &Path, actual: &str, write: bool) {
    let shown = path.display();
    if write {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).unwrap_or_else(|error| panic!("golden folder of {shown}: {error}"));
        }
        return fs::write(path, actual).unwrap_or_else(|error| panic!("write golden file {shown}: {error}"));
    }
    let golden = fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("golden file {shown}: {error}; `cargo xtask golden` writes it"));
    if golden != actual {
        let (line, was, is) = first_difference(&golden, actual);
        panic!(
            "{shown} differs from line {line} on\n golden: {was}\n actual: {is}\n\
             when that is meant, `cargo xtask golden` rewrites it"
        );
    }
}

/// The first line that differs, counted from 1, on both sides.
fn first_difference<'a>(golden: &'a str, actual: &'a str) -> (usize, &'a str, &'a str) {
    const END: &str = "(end of the text)";
    let (mut golden, mut actual) = (golden.split('\n'), actual.split('\n'));
    for line in 1.. {
        let (was, is) = (golden.next(), actual.next());
        if was != is || was.is_none() {
            return (line, was.unwrap_or(END), is.unwrap_or(END));
        }
    }
    (0, END, END)
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn it_writes_compares_and_names_the_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/file.txt");
        hold(&path, "a\nb\n", true);
        hold(&path, "a\nb\n", false);
        let panic = catch_unwind(|| hold(&path, "a\nc\n", false)).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("from line 2 on\n golden: b\n actual: c\n"), "{text}");
    }

    #[test]
    fn a_missing_end_is_a_difference() {
        assert_eq!(first_difference("a\nb", "a"), (2, "b", "(end of the text)"));
        assert_eq!(first_difference("a\n", "a"), (2, "", "(end of the text)"));
    }
}
