//! Smaller request bodies, where both sides like it.

use std::io::Write as _;

use eventlane_contracts::limits::LAMBDA_EVENT_BYTES;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Below this many bytes a body gains nothing worth the work.
const WORTH_BYTES: usize = 1024;

/// The compressed body; `None` where the plain one is the better. A gzipped body reaches a Lambda as
/// base64, which has to keep the limit as well.
pub(crate) fn compressed(body: &[u8]) -> Option<Vec<u8>> {
    if body.len() < WORTH_BYTES {
        return None;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(body).ok()?;
    let gzipped = encoder.finish().ok()?;
    let base64_bytes = gzipped.len().div_ceil(3) * 4;
    (gzipped.len() < body.len() && base64_bytes <= LAMBDA_EVENT_BYTES).then_some(gzipped)
}

#[cfg(test)]
mod tests {
    use super::compressed;
    use std::io::Read as _;

    #[test]
    fn a_body_comes_out_as_it_went_in_or_stays_plain() {
        let body = "{\"events\":[]}".repeat(1000).into_bytes();
        let gzipped = compressed(&body).unwrap();
        assert!(gzipped.len() < body.len() / 10);
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&gzipped[..]).read_to_end(&mut plain).unwrap();
        assert_eq!(plain, body);
        assert_eq!(compressed(b"{}"), None, "too small to gain");
        let mut rng = fastrand::Rng::with_seed(7);
        let noise: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(100_000).collect();
        assert_eq!(compressed(&noise), None, "no gain");
    }
}
