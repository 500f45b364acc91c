//! Every limit of the lane, each with its unit, its reason and its source.
//!
//! The server enforces them whatever a client is told to do; the client keeps to them so that a
//! refusal is the exception.

/// Events in one batch (one `POST /api/events`). More is 413. Source: the wire contract.
pub const BATCH_EVENTS: usize = 1000;

/// Bytes of one payload: the sender's JSON text, compacted, escapes as sent. Events are facts, not
/// documents. A typed stream's output is held to it too. Source: the wire contract.
pub const PAYLOAD_BYTES: usize = 65_536;

/// Bytes of one stamped identity value: identifiers, not profiles.
pub const IDENTITY_VALUE_BYTES: usize = 512;

/// Bytes of a request body after decoding. More is 413. Source: the wire contract.
pub const BODY_BYTES: usize = 4_194_304;

/// Bytes of a request as a Lambda event, after JSON quoting or base64. Lambda takes 6 MB for a
/// synchronous invocation; the rest is left to headers and the request context.
/// Source: AWS Lambda quotas, "Invocation payload".
pub const LAMBDA_EVENT_BYTES: usize = 5_500_000;

/// Levels a payload may nest: a scalar is 0, `[]` is 1. One number for client, ingest and relay,
/// low enough that every JSON parser on the way can take it inside an envelope.
pub const PAYLOAD_NESTING: usize = 64;

/// Characters of a stream name: with a prefix and `-dlq` it must fit SQS's 80 characters.
pub const STREAM_NAME_CHARS: usize = 30;

/// Bytes of one queue message, attributes' names, types and values counted.
/// Source: SQS quotas, "Message size" (1 MiB since August 2025).
pub const MESSAGE_BYTES: usize = 1_048_576;

/// Bytes of a message kept free, so that its dead-letter copy fits with reason and counts.
pub const MESSAGE_RESERVE_BYTES: usize = 16_384;

/// Bytes the body of an enqueued message may take: what a message holds less the reserve, from
/// which the attributes (`v`, `traceparent`) are paid too.
pub const MESSAGE_BODY_BYTES: usize = MESSAGE_BYTES - MESSAGE_RESERVE_BYTES;

/// Entries of one SQS batch call. Source: SQS quotas, "Batched message ID".
pub const SQS_CALL_ENTRIES: usize = 10;

/// Bytes of all entries of one SQS batch call together. Source: SQS `SendMessageBatch`.
pub const SQS_CALL_BYTES: usize = 1_048_576;

/// Bytes of a verdict's reason: the place and the rule, never a value.
pub const REASON_BYTES: usize = 256;

/// Bytes of a dead letter's reason, cut on a character boundary.
pub const DEAD_LETTER_REASON_BYTES: usize = 1_024;

/// Digits of `occurredAtUs`. More is not a time; of 19 digits only those that fit 63 bits are (up to
/// the year 294,247).
pub const OCCURRED_AT_DIGITS: usize = 19;
