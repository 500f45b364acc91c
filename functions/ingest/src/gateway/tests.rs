//! Events of each gateway, as the library turns them into requests once they are plain.

use lambda_http::Request;
use serde_json::{Value, json};

use super::*;

/// Every kind of gateway's fixture.
const GATEWAYS: [&str; 5] = ["http-api-v2", "rest-v1", "function-url", "alb", "alb-multi-value"];

fn fixture(gateway: &str) -> Value {
    let path = format!("{}/../../tests/fixtures/gateway/{gateway}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn request(event: &Value, base_path: Option<&str>) -> Request {
    let mut event: LambdaRequest = serde_json::from_str(&event.to_string()).unwrap();
    make_plain(&mut event, base_path);
    event.into()
}

fn path_of(event: &Value, base_path: Option<&str>) -> String {
    request(event, base_path).uri().path().to_owned()
}

/// An HTTP API's event with this path and stage, matched by its catch-all route.
fn http_api_at(path: &str, stage: &str) -> Value {
    let mut event = fixture("http-api-v2");
    event["rawPath"] = path.into();
    event["routeKey"] = "$default".into();
    event["requestContext"]["stage"] = stage.into();
    event
}

/// A REST API's event with this path and stage, matched by `/{proxy+}`.
fn rest_at(path: &str, stage: &str, proxy: Option<&str>) -> Value {
    let mut event = fixture("rest-v1");
    event["path"] = path.into();
    event["resource"] = "/{proxy+}".into();
    event["pathParameters"] = proxy.map_or(Value::Null, |proxy| json!({"proxy": proxy}));
    event["requestContext"]["stage"] = stage.into();
    event
}

#[test]
fn each_gateways_event_is_a_post_to_the_route_of_events() {
    for gateway in GATEWAYS {
        let request = request(&fixture(gateway), None);
        assert_eq!(
            (request.method().as_str(), request.uri().to_string().as_str()),
            ("POST", EVENTS_PATH),
            "{gateway}"
        );
        assert_eq!(request.headers()["content-type"], "application/json", "{gateway}");
    }
}

#[test]
fn stages_are_no_part_of_the_route_wherever_they_stand() {
    for (path, stage) in [
        ("/api/events", "$default"),
        ("/api/events", "prod"),
        ("/prod/api/events", "prod"),
        ("/api/events", "api"),
        ("/api/api/events", "api"),
    ] {
        assert_eq!(path_of(&http_api_at(path, stage), None), EVENTS_PATH, "{path} in {stage}");
        assert_eq!(path_of(&rest_at(path, stage, None), None), EVENTS_PATH, "{path} in {stage}");
    }
    assert_eq!(path_of(&http_api_at("/prod/healthz", "prod"), None), HEALTH_PATH);
    for (path, stage) in [
        ("/events", "api"),
        ("/prod/api/events", "test"),
        ("/prodapi/events", "prod"),
        ("/api/events/", "prod"),
    ] {
        assert_eq!(path_of(&http_api_at(path, stage), None), NOWHERE, "{path} in {stage}");
    }
}

#[test]
fn a_custom_domains_base_path_is_a_setting_unless_the_gateway_tells_the_route() {
    assert_eq!(path_of(&http_api_at("/v1/api/events", "$default"), Some("/v1")), EVENTS_PATH);
    assert_eq!(path_of(&http_api_at("/v1/prod/api/events", "prod"), Some("/v1")), EVENTS_PATH);
    assert_eq!(
        path_of(&http_api_at("/api/events", "$default"), Some("/v1")),
        EVENTS_PATH,
        "the other domain"
    );
    assert_eq!(path_of(&http_api_at("/v1/api/events", "$default"), None), NOWHERE);
    let mut routed = http_api_at("/v1/api/events", "$default");
    routed["routeKey"] = "POST /api/events".into();
    assert_eq!(path_of(&routed, None), EVENTS_PATH);
    assert_eq!(path_of(&rest_at("/v1/api/events", "prod", Some("api/events")), None), EVENTS_PATH);
    let mut alb = fixture("alb");
    alb["path"] = "/v1/healthz".into();
    assert_eq!(path_of(&alb, Some("/v1")), HEALTH_PATH);
}

#[test]
fn what_a_stranger_writes_into_host_path_and_query_panics_nobody() {
    for gateway in GATEWAYS {
        for odd in ["[", "a b", "\u{e9}\u{fffe}", "", "//", "x:y:z", "%zz", "?#\\"] {
            let mut event = fixture(gateway);
            for (headers, value) in [("headers", json!(odd)), ("multiValueHeaders", json!([odd]))] {
                if event[headers].is_object() {
                    for name in ["host", "Host", "x-forwarded-proto"] {
                        event[headers].as_object_mut().unwrap().insert(name.into(), value.clone());
                    }
                }
            }
            event["requestContext"]["domainName"] = odd.into();
            for path in ["path", "rawPath"] {
                if event.get(path).is_some() {
                    event[path] = format!("/{odd}").into();
                }
            }
            for (query, value) in [
                ("rawQueryString", json!(format!("a={odd}&{odd}"))),
                ("queryStringParameters", json!({odd: odd})),
                ("multiValueQueryStringParameters", json!({odd: [odd]})),
            ] {
                if event.get(query).is_some() {
                    event[query] = value;
                }
            }
            for key in ["resource", "routeKey"] {
                if event.get(key).is_some() {
                    event[key] = odd.into();
                }
            }
            assert_eq!(request(&event, None).uri().to_string(), NOWHERE, "{gateway} {odd}");
        }
    }
}

#[test]
fn two_values_of_a_header_stay_two() {
    for gateway in ["rest-v1", "alb-multi-value"] {
        let mut event = fixture(gateway);
        let name = if gateway == "rest-v1" { "Authorization" } else { "authorization" };
        event["multiValueHeaders"][name] = json!(["Bearer a", "Bearer b"]);
        let request = request(&event, None);
        let values: Vec<_> = request.headers().get_all("authorization").iter().collect();
        assert_eq!(values, ["Bearer a", "Bearer b"], "{gateway}");
    }
}
