//! The database's user and password, from Secrets Manager by way of AWS's Parameters and Secrets
//! extension: an HTTP server on loopback inside the function's sandbox, which caches and needs no SDK.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// Where the extension listens unless it is told otherwise.
const PORT: u16 = 2773;

/// Bytes of an answer that are read: a secret has 65,536 at most.
const MOST: u64 = 200_000;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    secret_string: String,
}

/// What RDS writes into its secrets, as far as it is needed.
#[derive(Deserialize)]
pub(crate) struct Login {
    username: String,
    password: String,
}

/// Asks the extension. No error quotes what it answered.
pub(crate) fn read(id: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Login> {
    let port = variable("PARAMETERS_SECRETS_EXTENSION_HTTP_PORT").and_then(|port| port.parse().ok());
    let token =
        variable("AWS_SESSION_TOKEN").context("AWS_SESSION_TOKEN is not set: not a Lambda function")?;
    let url = format!("http://localhost:{}/secretsmanager/get", port.unwrap_or(PORT));
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(5))).build().into();
    let request = agent.get(&url).query("secretId", id).header("X-Aws-Parameters-Secrets-Token", &token);
    let mut answer = match request.call() {
        Ok(answer) => answer,
        Err(ureq::Error::StatusCode(status)) => {
            bail!("the secrets extension answers {status} for the secret")
        }
        Err(_) => bail!("the secrets extension does not answer; is its layer added to the function?"),
    };
    let body = answer.body_mut().with_config().limit(MOST).read_to_vec();
    login(&body.ok().context("the secret can't be read")?)
}

fn login(body: &[u8]) -> Result<Login> {
    let answer: Option<Answer> = serde_json::from_slice(body).ok();
    let login = answer.and_then(|answer| serde_json::from_str(&answer.secret_string).ok());
    login.context("the secret is no JSON with username and password")
}

impl Login {
    /// The URL with this user and password in it, whatever characters they have.
    pub(crate) fn into_url(self, url: &str) -> Result<String> {
        let (scheme, rest) = url.split_once("://").context("EVENTLANE_RELAY_URL is no URL")?;
        let authority = rest.find('/').unwrap_or(rest.len());
        let host = rest[..authority].rsplit_once('@').map_or(&rest[..authority], |(_, host)| host);
        let (user, password) = (escape(&self.username), escape(&self.password));
        Ok(format!("{scheme}://{user}:{password}@{host}{}", &rest[authority..]))
    }
}

/// Percent-encodes all but what a URL takes as it is.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_fills_the_url_and_no_error_quotes_it() {
        let body =
            r#"{"Name":"n","SecretString":"{\"username\":\"app\",\"password\":\"p@:/ü\",\"port\":5432}"}"#;
        let url = login(body.as_bytes()).unwrap().into_url("postgres://db.example:5432/shop?sslmode=require");
        assert_eq!(url.unwrap(), "postgres://app:p%40%3A%2F%C3%BC@db.example:5432/shop?sslmode=require");
        let kept = login(body.as_bytes()).unwrap().into_url("mysql://old:user@h/d").unwrap();
        assert_eq!(kept, "mysql://app:p%40%3A%2F%C3%BC@h/d");
        for body in ["s3cret", r#"{"SecretString":"s3cret"}"#, "{}"] {
            let error = format!("{:#}", login(body.as_bytes()).err().unwrap());
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
