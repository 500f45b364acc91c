//! How long an RSA key is. The library takes any.

use jsonwebtoken::DecodingKeyKind;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;

/// Bits of the modulus, and the exponent where it fits 32 bits; from the components or from a DER
/// `RSAPublicKey`: SEQUENCE { INTEGER n, INTEGER e }.
pub(crate) fn of(kind: &DecodingKeyKind) -> Option<(usize, Option<u32>)> {
    let (modulus, exponent) = match kind {
        DecodingKeyKind::RsaModulusExponent { n, e } => (n.as_slice(), e.as_slice()),
        DecodingKeyKind::SecretOrDer(der) => {
            let (sequence, _) = element(SEQUENCE, der)?;
            let (modulus, rest) = element(INTEGER, sequence)?;
            (modulus, element(INTEGER, rest)?.0)
        }
    };
    let modulus = significant(modulus);
    let bits = modulus.len() * 8 - modulus.first()?.leading_zeros() as usize;
    let exponent = significant(exponent);
    let fits = exponent.len() <= 4;
    Some((bits, fits.then(|| exponent.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))))
}

fn significant(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

/// The value of the DER element at the start of `bytes`, when it has this tag, and what follows it.
fn element(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&length, rest) = rest.split_first()?;
    if found != tag {
        return None;
    }
    if length < 0x80 {
        return rest.split_at_checked(usize::from(length));
    }
    let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
    let length =
        digits.iter().try_fold(0usize, |sum, byte| sum.checked_mul(256)?.checked_add(usize::from(*byte)))?;
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use eventlane_testkit::tokens;
    use jsonwebtoken::DecodingKey;

    use super::*;

    #[test]
    fn modulus_and_exponent_are_measured() {
        let key = DecodingKey::from_rsa_pem(tokens::RSA_PUBLIC_PEM.as_bytes()).unwrap();
        assert_eq!(of(key.kind()), Some((2048, Some(65_537))));
        let components =
            |n: &[u8], e: &[u8]| of(&DecodingKeyKind::RsaModulusExponent { n: n.to_vec(), e: e.to_vec() });
        assert_eq!(components(&[0, 0x7f, 1], &[0, 3]), Some((15, Some(3))));
        assert_eq!(components(&[0xff], &[1, 0, 0, 0, 1]), Some((8, None)));
        assert_eq!(components(&[0, 0], &[3]), None);
        for cut in [&[][..], &[0x30], &[0x30, 0x82], &[0x30, 0x82, 1, 0, 2], &[0x30, 0x03, 2, 9, 1]] {
            assert_eq!(of(&DecodingKeyKind::SecretOrDer(cut.to_vec())), None, "{cut:?}");
        }
    }
}
