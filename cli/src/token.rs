//! `token`: a token for a local lane.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use eventlane_contracts::{Clock, SystemClock};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Map, Value};

use crate::folder::{self, DataFolder};
use crate::hooks::say;

/// Seconds a token lasts.
const LASTS: i64 = 3600;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The subject: claim `sub`
    #[arg(long)]
    sub: String,
    /// Further claims, a JSON object; they win over `sub`, `iat` and `exp`
    #[arg(long)]
    claims: Option<String>,
    /// The lane's data folder, whose dev-secret signs
    #[arg(long, default_value = folder::DEFAULT)]
    data: PathBuf,
    /// Sign with the secret in this file instead
    #[arg(long, conflicts_with = "data")]
    hs256_secret_file: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let claims = match options.claims.as_deref().map(serde_json::from_str) {
        None => Map::new(),
        Some(Ok(Value::Object(claims))) => claims,
        Some(_) => bail!("--claims is no JSON object, such as {{\"app_metadata\":{{\"person_id\":7}}}}"),
    };
    if options.sub.trim().is_empty() {
        bail!("--sub is empty");
    }
    let secret = match &options.hs256_secret_file {
        Some(path) => folder::read_secret(path)?,
        None => dev_secret(&options.data)?,
    };
    say(&sign(&secret, &options.sub, claims)?)
}

/// The dev secret of a data folder, made where missing: a token may come before the lane.
pub(crate) fn dev_secret(data: &Path) -> anyhow::Result<String> {
    DataFolder::create(data)?.dev_secret()
}

/// A token for `sub` that lasts an hour.
pub(crate) fn sign(secret: &str, sub: &str, claims: Map<String, Value>) -> anyhow::Result<String> {
    let now = SystemClock.now_us() / 1_000_000;
    let mut all = Map::from_iter([
        ("sub".to_owned(), Value::from(sub)),
        ("iat".to_owned(), Value::from(now)),
        ("exp".to_owned(), Value::from(now + LASTS)),
    ]);
    all.extend(claims);
    let key = EncodingKey::from_secret(secret.as_bytes()).context("the secret can't sign")?;
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &all, &key).context("the token can't be signed")
}
