/**
 * Synthesises the stack: the lock beside this folder, the settings in it.
 *
 * Context: `-c prebuilt=DIR` takes `DIR/<function>/bootstrap` instead of building; `-c local=true` is
 * for an emulator, see `lib/local.ts`; `-c lock=FILE` shows what another lock would change.
 */

import { join } from 'node:path';

import { App } from 'aws-cdk-lib';
import { Architecture } from 'aws-cdk-lib/aws-lambda';

import { ROOT } from './lib/function';
import { readStreams } from './lib/lock';
import { local } from './lib/local';
import { LaneStack } from './lib/stack';
import { settings } from './settings';

const app = new App();
const isLocal = String(app.node.tryGetContext('local')) === 'true';
try {
  new LaneStack(app, {
    settings: isLocal ? local(settings) : settings,
    architecture: isLocal && process.arch === 'x64' ? Architecture.X86_64 : Architecture.ARM_64,
    streams: readStreams((app.node.tryGetContext('lock') as string | undefined) ?? join(ROOT, 'streams.lock.json')),
    prebuilt: app.node.tryGetContext('prebuilt') as string | undefined,
  });
} catch (error) {
  // One line a fault; a stack trace into this app would bury it.
  console.error(`error: ${(error as Error).message}`);
  process.exit(1);
}
