/** Names that the functions, the command and people derive from the prefix too. */

import { Aws } from 'aws-cdk-lib';

/** A stream's queue. */
export function queueName(prefix: string, stream: string): string {
  return `${prefix}-${stream}`;
}

/** A stream's dead-letter queue. */
export function deadLetterQueueName(prefix: string, stream: string): string {
  return `${queueName(prefix, stream)}-dlq`;
}

/** Wakes the drain. A hyphen is in no stream's name, so this is no stream's queue. */
export function nudgeQueueName(prefix: string): string {
  return `${prefix}-drain-nudge`;
}

/** What the functions put before a stream's name. */
export function queueUrlPrefix(prefix: string): string {
  return `https://sqs.${Aws.REGION}.${Aws.URL_SUFFIX}/${Aws.ACCOUNT_ID}/${prefix}`;
}
