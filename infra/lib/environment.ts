/** What the functions are told by environment variables. */

import { queueUrlPrefix } from './naming';
import { Resolved } from './settings';

/** A function's own variables beside those that all have; what has no value is not set. */
export function environment(
  { prefix, logLevel }: Resolved,
  own: Record<string, string | undefined>,
): Record<string, string> {
  const variables = { EVENTLANE_QUEUE_URL_PREFIX: queueUrlPrefix(prefix), EVENTLANE_LOG: logLevel, ...own };
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined)) as Record<string, string>;
}
