//! What stands between Lambda and the router: events of four gateways, made plain before the library
//! turns them into requests.
//!
//! The library builds a URL from `Host`, path and query, all of which a stranger writes, and panics
//! where they form none; it puts stages in front of paths unless a variable is present; it lets a
//! header's last value stand for all. The door needs a path and headers: nothing else goes through.

use std::panic::{AssertUnwindSafe, catch_unwind};

use axum::Router;
use eventlane_contracts::wire::{EVENTS_PATH, HEALTH_PATH};
use lambda_http::aws_lambda_events::alb::AlbTargetGroupRequest;
use lambda_http::aws_lambda_events::apigw::{ApiGatewayProxyRequest, ApiGatewayV2httpRequest};
use lambda_http::http::HeaderMap;
use lambda_http::http::header::HOST;
use lambda_http::lambda_runtime::{self, Diagnostic};
use lambda_http::request::LambdaRequest;
use lambda_http::{Adapter, Error, LambdaEvent, Service, service_fn};

/// A path the router doesn't have.
const NOWHERE: &str = "/";

/// Serves the router to Lambda's events.
pub(crate) async fn run(router: Router, base_path: Option<String>) -> Result<(), Error> {
    let mut adapter = Adapter::from(router);
    lambda_runtime::run(service_fn(move |mut event: LambdaEvent<LambdaRequest>| {
        make_plain(&mut event.payload, base_path.as_deref());
        // The library panics on a body that is not the base64 it says it is.
        let answer = catch_unwind(AssertUnwindSafe(|| adapter.call(event)));
        async move {
            match answer {
                Ok(answer) => answer.await.map_err(Diagnostic::from),
                Err(_) => Err(Diagnostic {
                    error_type: "Eventlane::GatewayEvent".to_owned(),
                    error_message:
                        "the event can't be read as a request: its body is not the base64 it says it is"
                            .to_owned(),
                }),
            }
        }
    }))
    .await
}

/// Leaves of an event what the door reads: method, path, headers, body.
fn make_plain(event: &mut LambdaRequest, base_path: Option<&str>) {
    match event {
        LambdaRequest::ApiGatewayV1(event) => rest(event, base_path),
        LambdaRequest::ApiGatewayV2(event) => http_api(event, base_path),
        LambdaRequest::Alb(event) => alb(event, base_path),
        // No other kind is compiled in.
        _ => {}
    }
}

fn rest(event: &mut ApiGatewayProxyRequest, base_path: Option<&str>) {
    let stage = event.request_context.stage.take();
    let proxy = event.path_parameters.remove("proxy").map(|rest| format!("/{rest}"));
    let own = [event.resource.as_deref(), proxy.as_deref()];
    let path = route(event.path.as_deref(), stage.as_deref(), base_path, own);
    event.path = Some(path.to_owned());
    event.request_context.domain_name = None;
    event.query_string_parameters = Default::default();
    event.multi_value_query_string_parameters = Default::default();
    plain_headers(&mut event.headers, &mut event.multi_value_headers);
}

/// An HTTP API with payload 2.0, or a Function URL.
fn http_api(event: &mut ApiGatewayV2httpRequest, base_path: Option<&str>) {
    let stage = event.request_context.stage.take();
    let proxy = event.path_parameters.remove("proxy").map(|rest| format!("/{rest}"));
    // `POST /api/events`, or `$default`.
    let route_key = event.route_key.as_deref().and_then(|key| Some(key.split_once(' ')?.1));
    let path = route(event.raw_path.as_deref(), stage.as_deref(), base_path, [route_key, proxy.as_deref()]);
    event.raw_path = Some(path.to_owned());
    event.request_context.domain_name = None;
    event.raw_query_string = None;
    event.query_string_parameters = Default::default();
    event.headers.remove(HOST);
}

fn alb(event: &mut AlbTargetGroupRequest, base_path: Option<&str>) {
    let path = route(event.path.as_deref(), None, base_path, [None, None]);
    event.path = Some(path.to_owned());
    event.query_string_parameters = Default::default();
    event.multi_value_query_string_parameters = Default::default();
    plain_headers(&mut event.headers, &mut event.multi_value_headers);
}

/// Where every value of a header is given, the single ones would stand over them: two tokens would
/// look like one.
fn plain_headers(single: &mut HeaderMap, all: &mut HeaderMap) {
    if !all.is_empty() {
        single.clear();
    }
    single.remove(HOST);
    all.remove(HOST);
}

/// The router's path that an event's path means.
///
/// It may come as it is, behind the stage (an HTTP API's named stage), behind the base path of a
/// custom domain's mapping, or both. Each is tried with and without: a stage called `api` is no
/// prefix of `/api/events`. `own` is what the gateway itself has matched, free of every prefix: the
/// route's own path and its greedy parameter.
fn route(
    path: Option<&str>,
    stage: Option<&str>,
    base_path: Option<&str>,
    own: [Option<&str>; 2],
) -> &'static str {
    let path = path.unwrap_or_default();
    let stage = stage.map(|stage| format!("/{stage}"));
    let without = |path: &str, prefix: Option<&str>| Some(path.strip_prefix(prefix?)?.to_owned());
    let behind_stage = without(path, stage.as_deref());
    let behind_base = without(path, base_path);
    let behind_both = behind_base.as_deref().and_then(|path| without(path, stage.as_deref()));
    let candidates = [Some(path), behind_stage.as_deref(), behind_base.as_deref(), behind_both.as_deref()];
    let known = |path: &str| [EVENTS_PATH, HEALTH_PATH].into_iter().find(|known| *known == path);
    candidates.into_iter().chain(own).flatten().find_map(known).unwrap_or(NOWHERE)
}

#[cfg(test)]
mod tests;
