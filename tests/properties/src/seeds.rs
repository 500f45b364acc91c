//! Where fuzzing and mutation start: the fixtures, and what once broke a property.

use std::fs;
use std::path::Path;

use eventlane_testkit::envelopes::{Event, batch};
use eventlane_testkit::tokens::{self, Signer};
use serde_json::{Value, json};

/// Payloads and texts that readers have tripped over.
const ODD: [&str; 14] = [
    r#"{"s":"\ud800"}"#,
    r#"{"n":1e400}"#,
    r#"{"a":1,"\u0061":2}"#,
    r#""\uffff\ufffe\u0000""#,
    "\"\u{fffe}\u{ffff}\u{1d11e}\"",
    "[ 1.10, 1E2, -0.0, 12345678901234567890123, \"\\u00e9\\/\" ]",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    r#"{"issueId":"b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"}"#,
    r#"{"issueId":"B48B36EE-0D62-4382-8F6B-17F0B6B3BD77","x":1}"#,
    "null",
    "true",
    "\"\"",
    "{}",
    "9223372036854775808",
];

/// The seeds of a property, by its name; none for a name that is none.
///
/// # Panics
/// When a fixture of this repository can't be read.
#[must_use]
pub fn seeds(property: &str) -> Vec<Vec<u8>> {
    let mut seeds = match property {
        "body" => bodies(),
        "envelope" => envelopes(),
        "token" => headers(),
        _ => Vec::new(),
    };
    seeds.extend(regressions(property));
    seeds
}

fn bodies() -> Vec<Vec<u8>> {
    let mut bodies: Vec<Vec<u8>> = Vec::new();
    let captured = fixture("wire/request-from-the-seeds-client.json");
    bodies.extend(captured["body"].as_str().map(|body| body.as_bytes().to_vec()));
    let answers = fixture("wire/answers-of-the-seeds-server.json");
    for case in answers["answers"].as_array().into_iter().flatten() {
        let request = &case["request"];
        bodies.push(request.as_str().map_or_else(|| request.to_string(), str::to_owned).into_bytes());
    }
    let odd = ODD.iter().zip(0..).map(|(payload, n)| Event::new(n, "any_thing", *payload));
    bodies.push(batch(&odd.collect::<Vec<_>>()).into_bytes());
    let issues = ODD.iter().zip(0..).map(|(payload, n)| Event::new(n, "issue_viewed", *payload));
    bodies.push(batch(&issues.collect::<Vec<_>>()).into_bytes());
    bodies
}

fn envelopes() -> Vec<Vec<u8>> {
    let mut envelopes = Vec::new();
    let mut put = |place: u8, text: &str| envelopes.push([&[place], text.as_bytes()].concat());
    for payload in ODD {
        put(0, &Event::new(2, "any_thing", payload).envelope());
        put(1, payload);
    }
    for stream in ["any_thing", " issue_viewed\t", "not_deployed", " ", "\u{a0}"] {
        put(2, stream);
    }
    for id in ["0199c82c-c000-7000-8000-000000000002", "AAAAAAAA-aaaa-4AAA-8AAA-AAAAAAAAAAAA", "x"] {
        put(3, id);
    }
    for time in ["0", "9223372036854775807", "9223372036854775808", "00000000000000000001", "-1", "1.5"] {
        put(4, time);
    }
    envelopes
}

/// Headers, claims and key sets, as a token's parsers see them.
const PARTS: [&str; 6] = [
    r#"{"alg":"HS256","typ":"JWT"}"#,
    r#"{"alg":"RS256","kid":"rsa","typ":"at+jwt","jku":"https://x/","crit":["b64"],"b64":false}"#,
    r#"{"alg":"none","\u0061lg":"HS256","jwk":{"kty":"oct","k":"AAAA"}}"#,
    r#"{"sub":"u1","iss":"us","aud":["lane","x"],"exp":1760000060,"nbf":1759999999.5,"token_use":"access"}"#,
    r#"{"exp":1e400,"exp":-1,"aud":[["lane"]],"s":"\ud800"}"#,
    r#"{"keys":[{"kty":"RSA","kid":"a","alg":"RS256","use":"sig","n":"ofgWCuLj","e":"AQAB"},
        {"kty":"EC","crv":"P-256","x":"f83OJ3D2","y":"x_FEzRu9"},{"kty":"OKP","crv":"Ed25519","x":"11qYAYKx"}]}"#,
];

/// Tokens that hold.
pub(crate) fn sound_tokens() -> Vec<String> {
    let claims = tokens::claims("user-1");
    vec![tokens::hs256(&claims), tokens::rs256(&claims), Signer::rs256().named("k1").sign(&claims)]
}

fn headers() -> Vec<Vec<u8>> {
    let mut tokens: Vec<String> = sound_tokens();
    tokens.push(tokens::hs256_with(tokens::RSA_PUBLIC_PEM.as_bytes(), &tokens::claims("user-1")));
    for claims in [json!({"exp": -1}), json!({"exp": "9"}), json!({"exp": 1, "nbf": [1]}), json!({})] {
        tokens.push(tokens::hs256(&claims));
    }
    tokens.push("eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1MSIsImV4cCI6NDEwMjQ0NDgwMH0.".to_owned());
    tokens.push("Basic dXNlcjpwYXNz".to_owned());
    tokens.extend(PARTS.map(str::to_owned));
    tokens.into_iter().map(String::into_bytes).collect()
}

fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name);
    let text = fs::read_to_string(&path).expect("a fixture of this repository");
    serde_json::from_str(&text).expect("a fixture is JSON")
}

/// Inputs that broke a property once, one file each.
fn regressions(property: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(property);
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a regression can be read")).collect()
}
