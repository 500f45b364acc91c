//! The wire as an OpenAPI 3.1 document, made from the types and limits the door itself uses.

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use eventlane_contracts::limits::{BATCH_EVENTS, BODY_BYTES, PAYLOAD_BYTES, PAYLOAD_NESTING};
use eventlane_contracts::wire::{self, EVENTS_PATH, HEALTH_PATH};
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Value, json};

use crate::{Fault, request};

/// Where `eventlane up` serves the document.
const DOCUMENT_PATH: &str = "/openapi.json";

/// The document's text, as `docs/openapi.json` holds it.
#[must_use]
pub fn openapi() -> String {
    // A tree of texts and numbers always serialises.
    let mut text = serde_json::to_string_pretty(&document()).unwrap_or_default();
    text.push('\n');
    text
}

/// Adds `GET /openapi.json` to a router.
pub fn with_openapi(router: Router) -> Router {
    let text = openapi();
    let json = HeaderValue::from_static("application/json");
    let document = get(async move || ([(CONTENT_TYPE, json)], text).into_response());
    let other =
        async |request: Request| request::refuse(request, &Fault::MethodNotAllowed("GET, HEAD")).await;
    router.route(DOCUMENT_PATH, document.fallback(other))
}

fn document() -> Value {
    let mut schemas = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let paths = json!({
        EVENTS_PATH: {"post": post_events(&mut schemas)},
        HEALTH_PATH: {"get": health(&mut schemas, true), "head": health(&mut schemas, false)},
    });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Eventlane",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
            "description": "The wire between an app's outbox and the lane's ingest. Every answer that is not \
                            2xx has the body `Fault`; a route asked with a method it doesn't have answers 405 \
                            with `Allow`. `docs/wire.md` tells the rest.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": {"bearer": {
                "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                "description": "A token that one of the server's keys signed. Identity is stamped from its claims.",
            }},
        },
    })
}

fn post_events(schemas: &mut SchemaGenerator) -> Value {
    let fault = |schemas: &mut SchemaGenerator, description: &str| json!({"description": description, "content": content::<wire::Fault>(schemas)});
    let later = |schemas: &mut SchemaGenerator, description: &str| {
        let mut answer = fault(schemas, description);
        answer["headers"] = json!({"Retry-After": {
            "description": "Seconds to wait before the same batch is sent again.", "required": true,
            "schema": {"type": "integer", "minimum": 1},
        }});
        answer
    };
    let mut unauthorized = fault(schemas, "No valid token. The body was not looked at.");
    unauthorized["headers"] = json!({"WWW-Authenticate": {
        "description": "`Bearer`.", "required": true, "schema": {"const": "Bearer"},
    }});
    let body = format!(
        "At most {BATCH_EVENTS} events and {BODY_BYTES} bytes, decoded. A payload has at most {PAYLOAD_BYTES} bytes \
         and nests at most {PAYLOAD_NESTING} deep; one that has more is its own event's `rejected`. The \
         content type is not looked at."
    );
    json!({
        "operationId": "postEvents",
        "summary": "Sends a batch of events",
        "description": "Each event gets one verdict, in request order: `acked` (its queue confirmed it), `refused` \
                        (the gate said no), `rejected` (it can never be taken) are final; `deferred` means not \
                        now, send it again. An unknown stream is `deferred`.",
        "security": [{"bearer": []}],
        "parameters": [
            {
                "name": "Content-Encoding", "in": "header",
                "description": "How the body is encoded; plain where left out.",
                "schema": {"type": "string", "enum": ["identity", "gzip"]},
            },
            {
                "name": "traceparent", "in": "header",
                "description": "W3C trace context, `00-<32 hex>-<16 hex>-<2 hex>`; handed on with the events. One that \
                                is none is left out.",
                "schema": {"type": "string"},
            },
        ],
        "requestBody": {
            "required": true, "description": body,
            "content": {"application/json": {
                "schema": schemas.subschema_for::<wire::Batch<'_>>(), "example": example(),
            }},
        },
        "responses": {
            "200": {
                "description": "Exactly one verdict an envelope, in request order.",
                "content": content::<wire::Answer<'_>>(schemas),
            },
            "400": fault(schemas, "Not UTF-8, not JSON, not the shape, no event, or not the gzip it says it is."),
            "401": unauthorized,
            "404": fault(schemas, "This server has no streams."),
            "408": fault(schemas, "The body didn't arrive in time. Only from a server that runs all the time."),
            "413": fault(schemas, "Too many events or too many bytes, as declared, as sent or as decoded."),
            "415": fault(schemas, "A content encoding other than `identity` and `gzip`."),
            "429": later(schemas, "Too many requests of this token's subject. Nothing was queued."),
            "500": fault(schemas, "The gate failed for every event, or an internal fault."),
            "503": later(schemas, "The queue service is unavailable or no key could be loaded. Nothing was queued."),
        },
    })
}

fn health(schemas: &mut SchemaGenerator, body: bool) -> Value {
    let mut answer = json!({"description": "The process answers. Queues and keys are not looked at."});
    if body {
        answer["content"] = content::<wire::Health>(schemas);
    }
    json!({
        "operationId": if body { "getHealth" } else { "headHealth" },
        "summary": "Whether the server answers",
        "security": [],
        "responses": {"200": answer},
    })
}

fn content<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Value {
    json!({"application/json": {"schema": schemas.subschema_for::<T>()}})
}

fn example() -> Value {
    json!({"events": [{
        "stream": "issue_viewed",
        "eventId": "0199c82c-c000-7000-8000-000000000001",
        "occurredAtUs": "1760000000000000",
        "payload": {"issueId": "b48b36ee-0d62-4382-8f6b-17f0b6b3bd77"},
    }]})
}
