//! The figures' table inside `docs/performance.md`; the text around it is written by hand.

use std::path::Path;

use anyhow::Context;

use crate::report::{Figure, machine, markdown};

const BEGIN: &str = "<!-- figures -->\n";

const END: &str = "<!-- end of figures -->";

/// Puts the figures in the place of those that stand there.
pub(crate) fn write(path: &Path, figures: &[Figure]) -> anyhow::Result<()> {
    let shown = path.display();
    let old = std::fs::read_to_string(path).with_context(|| format!("read {shown}"))?;
    let new = replaced(&old, &table(figures)).with_context(|| format!("{shown} has no place for figures"))?;
    std::fs::write(path, new).with_context(|| format!("write {shown}"))
}

fn table(figures: &[Figure]) -> String {
    let rows: Vec<String> = figures.iter().map(markdown).collect();
    format!(
        "Measured on {}.\n\n| name | ratio | spread | reach | value | |\n| --- | --- | --- | --- | --- | --- |\n{}\n",
        machine(),
        rows.join("\n")
    )
}

fn replaced(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let document = format!("a\n{BEGIN}old\n{END}\nb\n");
        assert_eq!(replaced(&document, "new\n").unwrap(), format!("a\n{BEGIN}new\n{END}\nb\n"));
        assert_eq!(replaced("no marks", "new"), None);
    }
}
