/** What infrastructure takes from `streams.lock.json`: the streams' names. */

import { readFileSync } from 'node:fs';

/** The lock's format that this app reads. */
const FORMAT = 1;

/** A stream's name; 30 characters, so that every queue's name fits SQS's 80. */
const NAME = /^[a-z][a-z0-9_]{0,29}$/;

/** The streams of a lock file, sorted. None is a legal lock: then nothing is queued. */
export function readStreams(path: string): string[] {
  const cure = '`eventlane registry lock` writes it';
  let lock: { format?: unknown; streams?: unknown };
  try {
    lock = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path} can't be read (${(error as Error).message}); ${cure}`);
  }
  if (lock.format !== FORMAT) {
    throw new Error(`${path} has format ${JSON.stringify(lock.format)}, this app reads ${FORMAT}; ${cure}`);
  }
  if (typeof lock.streams !== 'object' || lock.streams === null || Array.isArray(lock.streams)) {
    throw new Error(`${path} has no map of streams; ${cure}`);
  }
  const names = Object.keys(lock.streams).sort();
  const odd = names.filter((name) => !NAME.test(name));
  if (odd.length > 0) {
    throw new Error(
      `${path} names streams that can have no queue: ${odd.join(', ')}; a name is a lower-case letter, ` +
        'then lower-case letters, digits and underscores, at most 30 characters',
    );
  }
  return names;
}
