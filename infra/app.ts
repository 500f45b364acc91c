/** Synthesises the stack: the lock beside this folder, the settings in it. */

import { join } from 'node:path';

import { App } from 'aws-cdk-lib';

import { ROOT } from './lib/function';
import { readStreams } from './lib/lock';
import { LaneStack } from './lib/stack';
import { settings } from './settings';

const app = new App();
try {
  new LaneStack(app, {
    settings,
    streams: readStreams(join(ROOT, 'streams.lock.json')),
    prebuilt: app.node.tryGetContext('prebuilt') as string | undefined,
  });
} catch (error) {
  // One line a fault; a stack trace into this app would bury it.
  console.error(`error: ${(error as Error).message}`);
  process.exit(1);
}
