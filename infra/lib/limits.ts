/**
 * Numbers that more than one part of the stack must agree on, each with its reason. What a user
 * chooses stands in `settings.ts`; what follows from a choice is derived here, once.
 */

/** Bytes of one queue message. Source: SQS quotas, "Message size"; the ingest splits by it. */
export const MESSAGE_BYTES = 1_048_576;

/** Days that a message waits for its delivery. Expiry is the lane's one stated loss. */
export const QUEUE_DAYS = 10;

/** Days of a dead letter. More than the queue's: a message that SQS moves keeps its first send time. */
export const DEAD_LETTER_DAYS = 14;

/** Receives per attempt before SQS moves a message by itself: only a handler that kills its process gets there. */
export const BACKSTOP = 10;

/** Visibility per second of an event source's function. Source: Lambda's guide for SQS. */
export const EVENT_SOURCE_FACTOR = 6;

/** Seconds an asynchronous invocation may be late: the next pass comes after a minute. */
export const EVENT_AGE_SECONDS = 60;

/** Seconds that the ingest may take: an HTTP API answers in its place after 30. */
export const INGEST_TIMEOUT_SECONDS = 29;

/** Seconds that a nudge is kept. A late one is worth nothing, since the schedule comes anyway. */
export const NUDGE_SECONDS = 60;

/** Invocations of nudges at once: the least that SQS event sources allow. */
export const NUDGED_AT_ONCE = 2;

/** Characters of a prefix, so that `<prefix>-<stream>-dlq` fits SQS's 80 (30 of them the stream's). */
export const PREFIX_CHARS = 45;

/**
 * Seconds that a read message is leased for by the scheduled drain, and its queue's own visibility.
 * No callback outlasts its function, so the function's timeout is enough, and less is not.
 */
export function visibilitySeconds(timeoutSeconds: number): number {
  return timeoutSeconds;
}

/** The same for a stream on an event source. */
export function eventSourceVisibilitySeconds(timeoutSeconds: number): number {
  return EVENT_SOURCE_FACTOR * timeoutSeconds;
}

/** Receives before SQS moves a message to the dead letters. */
export function maxReceiveCount(maxAttempts: number): number {
  return BACKSTOP * maxAttempts;
}
