//! Pages of other origins: shut out unless named, and told of faults as well as of verdicts.

use super::*;

const APP: &str = "https://app.example.com";

fn settings(origins: &[&str]) -> CorsSettings {
    CorsSettings {
        origins: origins.iter().map(|&origin| origin.to_owned()).collect(),
        ..CorsSettings::default()
    }
}

fn pages_door(settings: &CorsSettings) -> Door {
    let Door { router, queues } = door();
    Door { router: Cors::new(settings).unwrap().around(router), queues }
}

fn from(origin: &str, mut request: Request<Body>) -> Request<Body> {
    request.headers_mut().insert("origin", origin.parse().unwrap());
    request
}

fn preflight(origin: &str) -> Request<Body> {
    let request = Request::options("/api/events")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type");
    from(origin, request.body(Body::empty()).unwrap())
}

fn header<'a>(answered: &'a Answered, name: &str) -> Option<&'a str> {
    answered.headers.get(name).map(|value| value.to_str().unwrap())
}

#[tokio::test]
async fn off_means_that_no_answer_speaks_of_origins() {
    let door = door();
    let answered = door.ask(from(APP, request(batch(&[Event::new(1, "any_thing", "1")])))).await;
    assert_eq!(answered.status, 200);
    assert!(answered.headers.keys().all(|name| !name.as_str().starts_with("access-control-")));
    assert_eq!(door.ask(preflight(APP)).await.status, 405);
}

#[tokio::test]
async fn a_preflight_needs_no_token_and_reaches_no_stage() {
    let door = pages_door(&settings(&[APP, "http://localhost:3000"]));
    let answered = door.ask(preflight(APP)).await;
    assert_eq!(answered.status, 200);
    assert_eq!(header(&answered, "access-control-allow-origin"), Some(APP));
    assert_eq!(header(&answered, "access-control-allow-methods"), Some("GET,POST"));
    let headers = header(&answered, "access-control-allow-headers").unwrap();
    assert_eq!(headers, "authorization,content-type,content-encoding,traceparent");
    assert_eq!(header(&answered, "access-control-max-age"), Some("7200"));
    assert_eq!(header(&answered, "access-control-allow-credentials"), None);
}

#[tokio::test]
async fn verdicts_and_faults_are_readable_by_the_named_origins_alone() {
    let door = pages_door(&settings(&[APP]));
    for (body, token, status) in [
        (batch(&[Event::new(1, "any_thing", "1")]), true, 200),
        ("{".into(), true, 400),
        ("{".into(), false, 401),
    ] {
        for (origin, allowed) in [(APP, Some(APP)), ("https://evil.example.com", None), ("null", None)] {
            let mut request = from(origin, request(body.clone()));
            if !token {
                request.headers_mut().remove("authorization");
            }
            let answered = door.ask(request).await;
            assert_eq!(answered.status, status);
            assert_eq!(header(&answered, "access-control-allow-origin"), allowed, "{origin} {status}");
            assert!(header(&answered, "vary").unwrap().contains("origin"), "a cache must tell them apart");
            assert_eq!(header(&answered, "access-control-expose-headers"), Some("retry-after"));
        }
    }
    let nowhere = door.ask(from(APP, Request::get("/nowhere").body(Body::empty()).unwrap())).await;
    assert_eq!((nowhere.status, header(&nowhere, "access-control-allow-origin")), (404, Some(APP)));
}

#[tokio::test]
async fn every_origin_and_lists_of_ones_own_may_be_set() {
    let own = CorsSettings {
        methods: vec!["POST".into()],
        headers: vec!["authorization".into(), "x-app".into()],
        max_age_seconds: Some(60),
        ..settings(&["*"])
    };
    let answered = pages_door(&own).ask(preflight("https://anyone.example")).await;
    assert_eq!(header(&answered, "access-control-allow-origin"), Some("*"));
    assert_eq!(header(&answered, "access-control-allow-methods"), Some("POST"));
    assert_eq!(header(&answered, "access-control-allow-headers"), Some("authorization,x-app"));
    assert_eq!(header(&answered, "access-control-max-age"), Some("60"));
}

#[test]
fn nonsense_is_refused_with_every_offender() {
    let odd = CorsSettings {
        methods: vec!["PO ST".into()],
        headers: vec!["x app".into()],
        max_age_seconds: Some(86_401),
        ..settings(&[
            APP,
            "*",
            "app.example.com",
            "https://app.example.com/",
            "HTTPS://a.b",
            "https://a.b:443",
            "https://u@a.b",
            "null",
        ])
    };
    let text = Cors::new(&odd).unwrap_err().to_string();
    for part in [
        "* stands",
        "- app.example.com is",
        "com/ is",
        "HTTPS://a.b is",
        "b:443 is",
        "u@a.b is",
        "null is",
        "PO ST",
        "x app",
        "86401 s",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(!text.contains("- https://app.example.com is"), "{text}");
    assert!(Cors::new(&CorsSettings::default()).unwrap_err().to_string().contains("no origin"));
}
