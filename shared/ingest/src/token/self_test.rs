//! A start-up test of the crypto backend: one signature an algorithm, true and false.
//!
//! A build whose backend is missing or doubled compiles, and fails at the first token; this fails at
//! the start instead. Vectors: RFC 7515 A.1 and A.3, RFC 8037 A.4; that of RS256 is the claims of A.2,
//! signed by `openssl dgst -sha256 -sign` with a key of our own.

use jsonwebtoken::crypto::{CryptoProvider, verify};
use jsonwebtoken::{Algorithm, DecodingKey};

const CLAIMS: &str =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

const HMAC_KEY: &str =
    "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ+EstJQLr/T+1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow==";
const HMAC_SIGNATURE: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

const RSA_MODULUS: &str = "t0VHB81z6KMhmCzdZBVjycUc5nP5asG6YqOVq2zcXHjpg0OIdKfavhQDLE_lUWdwpX6iC2XBPuQsEffE7xv179cEKKCprKdOv9h-mf8ilghESp6Fom0MGDzi76VvxL4KLc9FP_dZ9FrwSUl3ouMdGCeHb0vBiXvVhfigxYMD5b_Or6FXva-nj7irSFpCysipfaJt1D3QJnS1YXFpIGyy-wlUqjPLj8AWfXRy9NgmJh2AcizVmPX1hrtSl2exfkYJLhNcBI9icffoBS0UupF_HPl6WiCGui2BIjJxoqhpFjByR37wfn2xKlbwDJgz2WiMMIMvGuRK6iqXLnO9mBYUgw";
const RSA_SIGNATURE: &str = "AD0l5qSjK1Tl0GwBlLKk1jsOvJ0XrsHy8HB9AruTiUSYkqBW0D4oDOXPt3aOTVloMpBGx3fLhqj_QyYTg48cI3xnVj-mMHx10udxAdrb7mb_2JoEngLIvwKjrB9K01qB8XSfnzAPjAiUmDo-PK0EypfKVU_dZmY2BEIK_zzILr29uIuJQ0pIz18R1d8IreIAZTMQ0KLeT5_ioDGLIAOd-avYdYlKK0hhGSWeSChaReR8j0zukUXSbqvl2j7L0oEa-XfsnS2qSNpeG63ncxBvH6iC92fv8pkkHabFbLOKSk50wy51M2h6zJ0EVnE1n571TPfyB1GSS_rgQIyJ0Nf4_Q";

const EC_X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
const EC_Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
const EC_SIGNATURE: &str =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

const ED_X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
const ED_MESSAGE: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
const ED_SIGNATURE: &str =
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

/// Verifies one known signature of every algorithm, and refuses it over another message.
///
/// # Errors
/// The algorithm that fails, as an offender of the settings.
pub(crate) fn run() -> Result<(), String> {
    if CryptoProvider::try_get_default().is_none() {
        return Err("this build has no crypto backend for tokens, or more than one".to_owned());
    }
    let claims = |header: &str| format!("{header}.{CLAIMS}");
    let vectors = [
        (
            Algorithm::HS256,
            DecodingKey::from_base64_secret(HMAC_KEY),
            claims("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"),
            HMAC_SIGNATURE,
        ),
        (
            Algorithm::RS256,
            DecodingKey::from_rsa_components(RSA_MODULUS, "AQAB"),
            claims("eyJhbGciOiJSUzI1NiJ9"),
            RSA_SIGNATURE,
        ),
        (
            Algorithm::ES256,
            DecodingKey::from_ec_components(EC_X, EC_Y),
            claims("eyJhbGciOiJFUzI1NiJ9"),
            EC_SIGNATURE,
        ),
        (Algorithm::EdDSA, DecodingKey::from_ed_components(ED_X), ED_MESSAGE.to_owned(), ED_SIGNATURE),
    ];
    for (algorithm, key, message, signature) in vectors {
        let says = |message: &str| {
            key.as_ref().ok().and_then(|key| verify(signature, message.as_bytes(), key, algorithm).ok())
        };
        if says(&message) != Some(true) || says(&format!("{message}x")) != Some(false) {
            return Err(format!("this build's crypto backend fails its self-test of {algorithm:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_backend_of_this_build_passes() {
        assert_eq!(super::run(), Ok(()));
    }
}
