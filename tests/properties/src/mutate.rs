//! Mutation: inputs that are nearly sound, the same for the same seed.

use fastrand::Rng;

/// Pieces that mean something to one of the readers.
const PIECES: [&[u8]; 26] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\ud800",
    b"\\udc00",
    b"\\uffff",
    b"\\u0000",
    b"1e400",
    b"-0.0",
    b"null",
    b"\"events\":",
    b"\"payload\":",
    b"\"stream\":\"any_thing\"",
    b"\xff",
    b"\xef\xbf\xbf",
    b"\x00",
    b" ",
    b".",
    b"=",
    b"eyJhbGciOiJub25lIn0",
    b"Bearer ",
];

/// A seed with one to four changes.
pub(crate) fn mutate(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = pick(rng, seeds).to_vec();
    for _ in 0..rng.usize(1..=4) {
        change(rng, &mut bytes, seeds);
    }
    bytes
}

fn change(rng: &mut Rng, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let (from, to) = range(rng, bytes.len());
    match rng.u8(0..8) {
        0 if from < bytes.len() => bytes[from] ^= 1 << rng.u8(0..8),
        1 if from < bytes.len() => bytes[from] = rng.u8(..),
        2 => drop(bytes.drain(from..to)),
        3 => bytes.truncate(from),
        4 => {
            let piece = bytes[from..to].to_vec();
            bytes.splice(from..from, piece);
        }
        5 => {
            let other = pick(rng, seeds);
            let (start, end) = range(rng, other.len());
            bytes.splice(from..to, other[start..end].iter().copied());
        }
        6 => {
            // Deep enough for every limit of nesting.
            let piece = PIECES[rng.usize(..PIECES.len())].repeat(rng.usize(1..=200));
            bytes.splice(from..from, piece);
        }
        _ => drop(bytes.splice(from..from, PIECES[rng.usize(..PIECES.len())].iter().copied())),
    }
}

fn range(rng: &mut Rng, length: usize) -> (usize, usize) {
    let from = rng.usize(0..=length);
    (from, rng.usize(from..=length.min(from + 64)))
}

fn pick<'a>(rng: &mut Rng, seeds: &'a [Vec<u8>]) -> &'a [u8] {
    rng.choice(seeds).map(Vec::as_slice).unwrap_or_default()
}
