//! Texts that a regular expression may match: a small reader for what patterns in schemas are made
//! of. What it can't read it gives no text for; the validator has the last word on every text.

use std::iter::Peekable;
use std::str::Chars;

/// Repeats of an open-ended quantifier at its longest.
const MORE: usize = 3;

/// Repeats that are written out at most.
const LONGEST: usize = 2000;

/// How the choices of a pattern are made.
#[derive(Clone, Copy)]
struct Way {
    /// Which alternative, modulo their number.
    branch: usize,
    /// Which character of a class, modulo their number.
    pick: usize,
    /// Repeats beyond the least.
    more: usize,
}

/// Texts for a pattern, some of them at the given lengths where a repeat is open.
pub(super) fn samples(pattern: &str, lengths: &[usize]) -> Vec<String> {
    let mut texts = Vec::new();
    let open = lengths.iter().copied().filter(|length| *length <= LONGEST);
    let mores: Vec<usize> = [0, 1, MORE].into_iter().chain(open).collect();
    for branch in 0..4 {
        for pick in 0..3 {
            for more in &mores {
                let mut reader =
                    Reader { rest: pattern.chars().peekable(), way: Way { branch, pick, more: *more } };
                if let Some(text) = reader.alternatives()
                    && reader.rest.peek().is_none()
                    && !texts.contains(&text)
                {
                    texts.push(text);
                }
            }
        }
    }
    texts
}

struct Reader<'p> {
    rest: Peekable<Chars<'p>>,
    way: Way,
}

impl Reader<'_> {
    fn alternatives(&mut self) -> Option<String> {
        let mut branches = vec![self.sequence()?];
        while self.rest.next_if_eq(&'|').is_some() {
            branches.push(self.sequence()?);
        }
        let index = self.way.branch % branches.len();
        Some(branches.swap_remove(index))
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(next) = self.rest.peek() {
            if matches!(next, '|' | ')') {
                break;
            }
            let atom = self.atom()?;
            let repeats = self.repeats()?;
            text.push_str(&atom.repeat(repeats.min(LONGEST)));
        }
        Some(text)
    }

    fn atom(&mut self) -> Option<String> {
        match self.rest.next()? {
            '^' | '$' => Some(String::new()),
            '.' => Some("a".to_owned()),
            '(' => {
                if self.rest.next_if_eq(&'?').is_some() && self.rest.next() != Some(':') {
                    return None;
                }
                let text = self.alternatives()?;
                self.rest.next_if_eq(&')').map(|_| text)
            }
            '[' => self.class(),
            '\\' => {
                let set = escape(self.rest.next()?)?;
                self.pick(&set).map(String::from)
            }
            '*' | '+' | '?' | ')' => None,
            plain => Some(plain.to_string()),
        }
    }

    fn pick(&self, set: &[char]) -> Option<char> {
        if set.is_empty() { None } else { Some(set[self.way.pick % set.len()]) }
    }

    fn class(&mut self) -> Option<String> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut set: Vec<char> = Vec::new();
        loop {
            let from = match self.rest.next()? {
                ']' => break,
                '\\' => {
                    set.extend(escape(self.rest.next()?)?);
                    continue;
                }
                plain => plain,
            };
            if self.rest.next_if_eq(&'-').is_some() {
                match self.rest.next()? {
                    ']' => {
                        set.extend([from, '-']);
                        break;
                    }
                    '\\' => return None,
                    to => set.extend(
                        [Some(from), Some(to), char::from_u32((from as u32).midpoint(to as u32))]
                            .into_iter()
                            .flatten(),
                    ),
                }
            } else {
                set.push(from);
            }
        }
        if negated {
            set = "aZ0 _~é".chars().filter(|c| !set.contains(c)).collect();
        }
        self.pick(&set).map(String::from)
    }

    fn repeats(&mut self) -> Option<usize> {
        let (least, most) = match self.rest.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.counted(),
            _ => return Some(1),
        };
        self.rest.next();
        self.rest.next_if_eq(&'?');
        Some(most.map_or(least + self.way.more, |most: usize| most.min(least + self.way.more)))
    }

    /// `{2}`, `{2,}`, `{2,5}`.
    fn counted(&mut self) -> Option<usize> {
        self.rest.next();
        let mut inside = String::new();
        loop {
            match self.rest.next()? {
                '}' => break,
                digit => inside.push(digit),
            }
        }
        self.rest.next_if_eq(&'?');
        let (least, most) = match inside.split_once(',') {
            None => {
                let count = inside.parse().ok()?;
                (count, Some(count))
            }
            Some((least, "")) => (least.parse().ok()?, None),
            Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
        };
        // At its longest a bounded repeat goes to its bound.
        let wish = if self.way.more == MORE { most.unwrap_or(least + MORE) } else { least + self.way.more };
        Some(most.map_or(wish, |most: usize| most.min(wish)))
    }
}

fn escape(letter: char) -> Option<Vec<char>> {
    Some(match letter {
        'd' => vec!['0', '5', '9'],
        'w' => vec!['a', 'Z', '_', '7'],
        's' => vec![' '],
        'D' | 'S' => vec!['a', '-'],
        'W' => vec!['-', ' '],
        't' => vec!['\t'],
        'n' => vec!['\n'],
        'r' => vec!['\r'],
        'b' | 'B' | 'p' | 'P' | 'u' | 'x' | 'k' | 'c' => return None,
        digit if digit.is_ascii_digit() => return None,
        plain => vec![plain],
    })
}

#[cfg(test)]
mod tests {
    use super::samples;

    #[test]
    fn ordinary_patterns_get_texts_that_match() {
        for pattern in [
            "^[a-z][a-z0-9_]*$",
            "^\\d{4}-\\d{2}$",
            "^(red|green)-[A-F]{2,5}$",
            "^(?:a|b)?c+\\.txt$",
            "[^a-z]",
            "^x",
        ] {
            let schema = serde_json::json!({"pattern": pattern});
            let validator = jsonschema::validator_for(&schema).unwrap();
            let texts = samples(pattern, &[5]);
            assert!(
                texts.iter().any(|text| validator.is_valid(&text.as_str().into())),
                "{pattern}: {texts:?}"
            );
        }
    }

    #[test]
    fn what_is_not_read_gives_no_text() {
        for pattern in ["(?=a)b", "\\p{L}", "(", "a{", "\\1"] {
            assert_eq!(samples(pattern, &[]), Vec::<String>::new(), "{pattern}");
        }
    }
}
