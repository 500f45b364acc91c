//! No change to a signed token makes another token that verifies, and no bytes make the door panic.

use futures::FutureExt;
use proptest::prelude::*;

use super::*;
use crate::TokenVerifier;

fn verifier() -> TokenVerifier {
    inline().verifier(&registry(), Arc::new(ManualClock::default())).unwrap()
}

/// Whether these bytes are taken for a token.
fn is_taken(verifier: &TokenVerifier, bytes: &[u8]) -> bool {
    let Ok(token) = std::str::from_utf8(bytes) else { return false };
    verifier.verify(token).now_or_never().expect("inline keys wait for nothing").is_ok()
}

fn tokens() -> Vec<String> {
    signers().iter().map(|signer| signer.sign(&good_claims())).collect()
}

#[test]
fn no_bit_of_a_token_can_be_changed() {
    let verifier = verifier();
    for token in tokens() {
        assert!(is_taken(&verifier, token.as_bytes()));
        let mut bytes = token.into_bytes();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                assert!(!is_taken(&verifier, &bytes), "bit {bit} of byte {at}");
                bytes[at] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn no_byte_can_be_taken_away_added_or_swapped() {
    let verifier = verifier();
    for token in tokens() {
        let bytes = token.as_bytes();
        for at in 0..bytes.len() {
            assert!(!is_taken(&verifier, &bytes[..at]), "cut at {at}");
            let without = [&bytes[..at], &bytes[at + 1..]].concat();
            assert!(without == bytes || !is_taken(&verifier, &without), "without byte {at}");
            for more in [b'A', b'.', b'=', b' ', b'\n'] {
                let with = [&bytes[..at], &[more], &bytes[at..]].concat();
                assert!(!is_taken(&verifier, &with), "{more} before byte {at}");
            }
            if at > 0 && bytes[at] != bytes[at - 1] {
                let mut swapped = bytes.to_vec();
                swapped.swap(at, at - 1);
                assert!(!is_taken(&verifier, &swapped), "bytes {at} and before swapped");
            }
        }
    }
}

#[test]
fn no_part_of_one_token_serves_another() {
    let verifier = verifier();
    let other = json!({"sub": "admin", "iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 31_536_000});
    let mut all = tokens();
    all.extend(signers().iter().map(|signer| signer.sign(&other)));
    let parts = |token: &String| token.split('.').map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = all.iter().map(parts).collect();
    for (a, header) in all.iter().enumerate() {
        for (b, claims) in all.iter().enumerate() {
            for (c, signature) in all.iter().enumerate() {
                let mixed = format!("{}.{}.{}", header[0], claims[1], signature[2]);
                // Only a mixture that equals a whole token is one.
                let is_whole = all.iter().any(|whole| whole.join(".") == mixed);
                assert_eq!(is_taken(&verifier, mixed.as_bytes()), is_whole, "{a} {b} {c}");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_panic_or_a_token(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        crate::fuzz::token(&bytes);
    }

    #[test]
    fn nothing_like_a_token_makes_a_panic_or_a_token(
        text in r#"[\[\]{}:,"\\.a-z0-9-]{0,60}|(\{"(alg|kid|typ|crit|exp|iss|aud|nbf|kty|keys)":("HS256"|"RS256"|-?[0-9]{1,30}|\[[0-9,]*\]|null),?)+\}?"#
    ) {
        crate::fuzz::token(text.as_bytes());
    }

    #[test]
    fn no_random_change_of_a_token_is_taken(
        which in 0usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let token = tokens().swap_remove(which);
        let mut changed = token.clone().into_bytes();
        for (at, byte) in changes {
            let at = at.index(changed.len());
            changed[at] = byte;
        }
        prop_assume!(changed != token.as_bytes());
        prop_assert!(!is_taken(&verifier(), &changed));
    }
}
