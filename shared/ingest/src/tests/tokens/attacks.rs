//! The attack table: each row a token that proves nothing, and what is said of it.

use eventlane_testkit::tokens::{RSA_PUBLIC_PEM, encode};

use super::*;

type Row = (&'static str, String, TokenError);

/// Asks the door with each token: 401, the trouble's own words, nothing queued.
async fn all_fail(rows: Vec<Row>) {
    let mut keys: Value = serde_json::from_str(&inline().jwks.unwrap()).unwrap();
    // An RSA key that says it is for ES256: of no use to anybody.
    let mut odd = Signer::rs256().named("odd").jwk();
    odd["alg"] = "ES256".into();
    keys["keys"].as_array_mut().unwrap().push(odd);
    let settings = TokenSettings { jwks: Some(keys.to_string()), ..inline() };
    let door = door_of(settings, &ManualClock::default());
    assert_eq!(door.status(&Signer::rs256().named("rsa").sign(&good_claims())).await, 200);
    *door.queues.calls.lock().unwrap() = 0;
    for (attack, token, trouble) in rows {
        let answered = door.with_token(&token).await;
        assert!(answered.is(&trouble), "{attack}: {} {}, not {trouble:?}", answered.status, answered.body);
        assert_eq!(answered.status, 401, "{attack}");
        assert_eq!(answered.headers["www-authenticate"], "Bearer", "{attack}");
    }
    assert_eq!(*door.queues.calls.lock().unwrap(), 0, "nothing is queued");
}

fn row(attack: &'static str, token: String, trouble: TokenError) -> Row {
    (attack, token, trouble)
}

/// A token of the shared secret under this header.
fn header(text: &str) -> String {
    Signer::hs256().sign_text(text, &good_claims().to_string())
}

/// A token of the shared secret with these claims.
fn claims(text: &str) -> String {
    Signer::hs256().sign_text(r#"{"alg":"HS256"}"#, text)
}

/// A token of the shared secret with one claim set otherwise, or taken away.
fn with(key: &str, value: Option<Value>) -> String {
    let mut all = good_claims();
    match value {
        Some(value) => all[key] = value,
        None => drop(all.as_object_mut().unwrap().remove(key)),
    }
    Signer::hs256().sign(&all)
}

#[tokio::test]
async fn the_key_decides_the_algorithm() {
    use TokenError::{Algorithm, Header, Signature, UnknownKey};
    let public = || Signer::secret(RSA_PUBLIC_PEM.as_bytes());
    let all = good_claims();
    let unsigned = |header: &str| format!("{}.{}.", encode(header), encode(good_claims().to_string()));
    let mut rows = vec![
        row("HS256 signed with the RSA key's PEM", public().sign(&all), Signature),
        row("the same under the RSA key's kid", public().named("rsa").sign(&all), Algorithm),
        row("the true secret under an RSA key's kid", Signer::hs256().named("rsa").sign(&all), Algorithm),
        row("RS256 under an EC key's kid", Signer::rs256().named("ec").sign(&all), Algorithm),
        row("ES256 under an RSA key's kid", Signer::es256().named("rsa").sign(&all), Algorithm),
        row(
            "RS256 under the kid of an RSA key for ES256",
            Signer::rs256().named("odd").sign(&all),
            UnknownKey,
        ),
        row("ES256 under that kid", Signer::es256().named("odd").sign(&all), UnknownKey),
        row("another's RSA key without a kid", Signer::other_rs256().sign(&all), Signature),
        row("another's RSA key under our kid", Signer::other_rs256().named("rsa").sign(&all), Signature),
        row("another's secret", Signer::secret(&[7; 64]).sign(&all), Signature),
        row(
            "RS256's name on a MAC",
            Signer::hs256().sign_text(r#"{"alg":"RS256","kid":"rsa"}"#, &all.to_string()),
            Signature,
        ),
        row("no alg", unsigned("{}"), Header("alg")),
        row("alg as an array", unsigned(r#"{"alg":["HS256"]}"#), Header("alg")),
        row("alg as a number", unsigned(r#"{"alg":256}"#), Header("alg")),
        row("alg null", unsigned(r#"{"alg":null}"#), Header("alg")),
    ];
    for name in [
        "none",
        "nOnE",
        "NONE",
        "",
        " HS256",
        "hs256",
        "HS384",
        "HS512",
        "RS512",
        "PS256",
        "ES384",
        "EdDSA\u{0}",
    ] {
        let text = json!({"alg": name, "typ": "JWT"}).to_string();
        rows.push(row("an alg nobody has, unsigned", unsigned(&text), Algorithm));
        rows.push(row("an alg nobody has, signed", header(&text), Algorithm));
    }
    rows.push(row("HS256 unsigned", unsigned(r#"{"alg":"HS256"}"#), Signature));
    all_fail(rows).await;
}

#[tokio::test]
async fn a_header_that_asks_for_more_is_not_followed() {
    use TokenError::{Header, Malformed, Signature, TooLarge, UnknownKey};
    let theirs = Signer::other_rs256();
    let brought = |member: &str, kid: &str| {
        let header = format!(r#"{{"alg":"RS256"{kid},{member}}}"#);
        theirs.sign_text(&header, &good_claims().to_string())
    };
    let jwk = format!(r#""jwk":{}"#, theirs.jwk());
    let mut rows = vec![
        row("a key brought along", brought(&jwk, ""), Signature),
        row("a key brought along under a kid", brought(&jwk, r#","kid":"theirs""#), UnknownKey),
        row("a chain brought along", brought(r#""x5c":["MIIB"]"#, r#","kid":"rsa""#), Signature),
        row("crit empty", header(r#"{"alg":"HS256","crit":[]}"#), Header("crit")),
        row("crit of what is known", header(r#"{"alg":"HS256","crit":["exp"]}"#), Header("crit")),
        row("crit null", header(r#"{"alg":"HS256","crit":null}"#), Header("crit")),
        row("b64 false", header(r#"{"alg":"HS256","b64":false}"#), Header("b64")),
        row(
            "b64 false and critical",
            header(r#"{"alg":"HS256","b64":false,"crit":["b64"]}"#),
            Header("crit"),
        ),
        row("a logout token", header(r#"{"alg":"HS256","typ":"logout+jwt"}"#), Header("typ")),
        row("a typ that is no text", header(r#"{"alg":"HS256","typ":["JWT"]}"#), Header("typ")),
        row("a kid that is no text", header(r#"{"alg":"HS256","kid":7}"#), Header("kid")),
        row("an empty kid", header(r#"{"alg":"HS256","kid":""}"#), Header("kid")),
        row("a null kid", header(r#"{"alg":"HS256","kid":null}"#), Header("kid")),
        row("a kid that is a path", Signer::rs256().named("../../rsa").sign(&good_claims()), UnknownKey),
        row("alg twice", header(r#"{"alg":"HS256","alg":"HS256"}"#), Malformed),
        row("alg twice, one escaped", header(r#"{"alg":"HS256","\u0061lg":"none"}"#), Malformed),
        row("kid twice", header(r#"{"alg":"HS256","kid":"a","kid":"b"}"#), Malformed),
        row(
            "a member twice deep inside",
            header(r#"{"alg":"HS256","jwk":{"a":[{"b":1,"b":1}]}}"#),
            Malformed,
        ),
        row("a header that is an array", header(r#"["HS256"]"#), Malformed),
        row("a header that is a text", header(r#""HS256""#), Malformed),
        row("an empty header", header(""), Malformed),
        row(
            "a header nested too deep",
            header(&format!(r#"{{"alg":"HS256","x":{}{}}}"#, "[".repeat(65), "]".repeat(65))),
            Malformed,
        ),
        row(
            "a header nested beyond any stack",
            header(&format!(r#"{{"alg":"HS256","x":{}{}}}"#, "[".repeat(2900), "]".repeat(2900))),
            Malformed,
        ),
        row("a huge header", header(&json!({"alg": "HS256", "x": "x".repeat(6200)}).to_string()), TooLarge),
    ];
    let pointed_at = FakeJwks::start(KeyAnswer::Keys(vec![theirs.jwk()]));
    for member in ["jku", "x5u"] {
        let member = format!(r#""{member}":"{}""#, pointed_at.url());
        rows.push(row("a place to fetch a key from", brought(&member, ""), Signature));
        rows.push(row("such a place, and a kid", brought(&member, r#","kid":"theirs""#), UnknownKey));
    }
    all_fail(rows).await;
    assert_eq!(pointed_at.fetches(), 0, "what a header points at is not followed");
}

#[tokio::test]
async fn claims_hold_or_nothing_does() {
    use TokenError::{Claims, Expired, Malformed, NotYetValid, TooLarge};
    let mut rows = vec![
        row(
            "neither issuer nor audience",
            Signer::hs256().sign(&json!({"sub": "u1", "exp": NOW + 60})),
            Claims("iss"),
        ),
        row("expired at the leeway's end", with("exp", Some(json!(NOW - 30))), Expired),
        row("expired long ago", with("exp", Some(json!(0))), Expired),
        row(
            "expiry -0.0",
            claims(&format!(r#"{{"iss":"{ISSUER}","aud":"{AUDIENCE}","exp":-0.0}}"#)),
            Expired,
        ),
        row("not before in an hour", with("nbf", Some(json!(NOW + 5000))), NotYetValid),
        row("issued in a year", with("iat", Some(json!(NOW + 31_536_000))), NotYetValid),
        row("issued beyond the leeway", with("iat", Some(json!(NOW + 31))), NotYetValid),
        row("another's issuer", with("iss", Some(json!("https://id.example.com.evil/"))), Claims("iss")),
        row("an issuer without its slash", with("iss", Some(json!("https://id.example.com"))), Claims("iss")),
        row("another's audience", with("aud", Some(json!("other"))), Claims("aud")),
        row("an audience that starts like ours", with("aud", Some(json!("eventlane2"))), Claims("aud")),
        row("an audience of other things than texts", with("aud", Some(json!([AUDIENCE, 1]))), Claims("aud")),
        row(
            "expiry 1e400",
            claims(&format!(r#"{{"iss":"{ISSUER}","aud":"{AUDIENCE}","exp":1e400}}"#)),
            Malformed,
        ),
        row(
            "expiry twice",
            claims(&format!(r#"{{"exp":1,"iss":"{ISSUER}","aud":"{AUDIENCE}","exp":{}}}"#, NOW + 60)),
            Malformed,
        ),
        row(
            "subject twice",
            claims(&format!(
                r#"{{"sub":"a","iss":"{ISSUER}","aud":"{AUDIENCE}","exp":{},"\u0073ub":"b"}}"#,
                NOW + 60
            )),
            Malformed,
        ),
        row(
            "a claim twice deep inside",
            claims(&format!(
                r#"{{"m":{{"id":1,"id":2}},"iss":"{ISSUER}","aud":"{AUDIENCE}","exp":{}}}"#,
                NOW + 60
            )),
            Malformed,
        ),
        row("claims that are an array", claims(&format!(r#"[{{"exp":{}}}]"#, NOW + 60)), Malformed),
        row("claims that are a text", claims(r#""exp""#), Malformed),
        row("no claims", claims(""), Malformed),
        row("claims and more", claims(&format!("{} {{}}", good_claims())), Malformed),
        row(
            "a lone surrogate",
            claims(&format!(r#"{{"sub":"\ud800","iss":"{ISSUER}","aud":"{AUDIENCE}","exp":{}}}"#, NOW + 60)),
            Malformed,
        ),
        row("claims nested too deep", with("x", Some(nested(65))), Malformed),
        row("huge claims", with("x", Some(json!("x".repeat(16_000)))), TooLarge),
    ];
    for key in ["exp", "iss", "aud"] {
        rows.push(row("a claim missing", with(key, None), Claims(key)));
        for odd in [json!(null), json!([]), json!({}), json!(true), json!(""), json!({"a": 1})] {
            rows.push(row("a claim of another type", with(key, Some(odd)), Claims(key)));
        }
    }
    rows.push(row("an array for an issuer", with("iss", Some(json!([ISSUER]))), Claims("iss")));
    for key in ["exp", "nbf", "iat"] {
        for odd in [
            json!("99999999999"),
            json!([NOW + 60]),
            json!(-1),
            json!(-1e300),
            json!(1e300),
            json!(253_402_300_800_i64),
            json!(u64::MAX),
            json!(null),
        ] {
            rows.push(row("a time that is none", with(key, Some(odd)), Claims(key)));
        }
    }
    all_fail(rows).await;
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[tokio::test]
async fn what_is_no_token_is_none() {
    use TokenError::{Malformed, Signature};
    let good = Signer::hs256().sign(&good_claims());
    let [header, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else { unreachable!() };
    let invalid_utf8 = format!("{header}.{}.{signature}", encode(b"{\"a\":\"\xff\"}"));
    all_fail(vec![
        row("one part", header.to_owned(), Malformed),
        row("two parts", format!("{header}.{claims}"), Malformed),
        row("dots alone", "..".to_owned(), Malformed),
        row("five parts", format!("{good}.a.b"), Malformed),
        row("four parts", format!("{header}.{claims}.{claims}.{signature}"), Malformed),
        row("no signature", format!("{header}.{claims}."), Signature),
        row("a signature that is too long", format!("{good}AAAA"), Signature),
        row("a signature cut short", good[..good.len() - 4].to_owned(), Signature),
        row("a padded signature", format!("{good}="), Signature),
        row("a space inside", format!("{header}. {claims}.{signature}"), Signature),
        row("claims that are no UTF-8", invalid_utf8, Signature),
        row("a header of the other alphabet", format!("+/{header}.{claims}.{signature}"), Malformed),
        row("a huge token of nothing", "a.".repeat(5000), TokenError::Malformed),
        row("a huge token", "a".repeat(16_385), TokenError::TooLarge),
    ])
    .await;
}

#[tokio::test]
async fn a_request_has_one_token_in_its_place() {
    let door = door_of(inline(), &ManualClock::default());
    let good = Signer::hs256().sign(&good_claims());
    for (values, trouble) in [
        (vec![], TokenError::Missing),
        (vec![good.clone()], TokenError::Missing),
        (vec![format!("Basic {good}")], TokenError::Missing),
        (vec![format!("Bearer {good}"), format!("Bearer {good}")], TokenError::Missing),
        (vec![format!("Bearer {good}, Bearer {good}")], TokenError::Malformed),
        (vec!["Bearer ".to_owned()], TokenError::Missing),
    ] {
        let mut asked = request(batch(&[Event::new(1, "any_thing", "1")]));
        asked.headers_mut().remove("authorization");
        for value in &values {
            asked.headers_mut().append("authorization", value.parse().unwrap());
        }
        let answered = door.ask(asked).await;
        assert!(answered.is(&trouble), "{} values: {}", values.len(), answered.body);
    }
}

#[test]
fn no_error_tells_anything_of_the_token() {
    let token = Signer::hs256().named("a-kid").sign(&json!({"iss": "a-secret-issuer", "exp": NOW + 60}));
    let verifier = inline().verifier(&registry(), Arc::new(ManualClock::default())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = runtime.block_on(verifier.verify(&token)).unwrap_err();
    let told = format!("{error} {error:?} {}", error.tag());
    assert!(!told.contains("a-secret-issuer") && !told.contains("a-kid"), "{told}");
}
