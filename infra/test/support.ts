/** What the tests share: synthesised stacks, and where golden templates are. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';

import { ROOT } from '../lib/function';
import { readStreams } from '../lib/lock';
import { Settings } from '../lib/settings';
import { LaneStack } from '../lib/stack';

/** Sources, not what tsc writes: golden files are committed. */
const HERE = join(ROOT, 'infra', 'test');

export const STREAMS = readStreams(join(ROOT, 'streams.lock.json'));

/** Every option there is. */
export const EVERYTHING: Settings = {
  prefix: 'lane',
  account: '123456789012',
  region: 'eu-west-1',
  tokens: {
    kind: 'jwks',
    url: 'https://login.example.com/.well-known/jwks.json',
    issuer: 'https://login.example.com/',
    audience: ['events', 'events-beta'],
    audienceClaim: 'client_id',
    tokenUse: 'access',
    leewaySeconds: 10,
  },
  ingest: {
    front: 'function-url',
    memoryMb: 1024,
    reservedConcurrency: 50,
    subjectRatePerMinute: 600,
    corsOrigins: ['https://app.example.com', 'capacitor://localhost'],
  },
  drain: {
    timeoutSeconds: 120,
    marginSeconds: 15,
    maxAttempts: 7,
    halve: true,
    reservedConcurrency: 10,
    eventSources: { issue_viewed: { maximumConcurrency: 5 }, review_graded: { maximumConcurrency: 2, batchSize: 10 } },
  },
  ledger: true,
  consent: { default: 'allow', claim: 'app_metadata.person_id' },
  relay: {
    vpcId: 'vpc-0a1b2c3d',
    subnetIds: ['subnet-0a1b2c3d', 'subnet-1a1b2c3d'],
    availabilityZones: ['eu-west-1a', 'eu-west-1b'],
    databaseSecurityGroupId: 'sg-0a1b2c3d',
    databasePort: 5432,
    databaseSecretArn: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:orders/outbox-AbCdEf',
    topics: { 'issue.viewed': 'issue_viewed', 'bird.struck': 'bird_strike', earthquake: 'earthquake', graded: 'review_graded' },
    poolerSafe: true,
    reservedConcurrency: 1,
  },
  metricsNamespace: 'Telemetry/Events',
  logLevel: 'debug',
  logDays: 90,
  alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call',
  tags: { app: 'eventlane', team: 'telemetry' },
};

export const PLAIN: Settings = { tokens: { kind: 'hs256' } };

/** No stream is left for the schedule. */
export const ALL_ON_SOURCES: Settings = {
  tokens: { kind: 'hs256' },
  drain: { eventSources: Object.fromEntries(STREAMS.map((stream) => [stream, { maximumConcurrency: 2 }])) },
};

export function stack(settings: Settings, streams: readonly string[] = STREAMS): { app: App; stack: LaneStack } {
  const app = new App({ analyticsReporting: false });
  return { app, stack: new LaneStack(app, { settings, streams, prebuilt: join(HERE, 'functions') }) };
}

/** A synth takes seconds; the same one is made once a file. */
const made = new Map<string, Template>();

export function template(settings: Settings, streams: readonly string[] = STREAMS): Template {
  const key = JSON.stringify([settings, streams]);
  const known = made.get(key) ?? Template.fromStack(stack(settings, streams).stack);
  made.set(key, known);
  return known;
}

interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** The resources of a type, by logical id. */
export function resources(of: Template, type: string): [string, Resource][] {
  return Object.entries(of.findResources(type)) as [string, Resource][];
}

/** What a function is told. */
export function environment(of: Template, functionName: string): Record<string, unknown> {
  const [found] = resources(of, 'AWS::Lambda::Function').filter(
    ([, it]) => (it.Properties['FunctionName'] as string) === functionName,
  );
  assert.ok(found, `${functionName} is there`);
  return (found[1].Properties['Environment'] as { Variables: Record<string, unknown> }).Variables;
}

/** Compares with the golden file of this name, or writes it when `EVENTLANE_GOLDEN` is `write`. */
export function golden(name: string, of: Template): { expected: string; actual: string } {
  const folder = join(HERE, 'golden');
  const path = join(folder, `${name}.template.json`);
  const actual = `${JSON.stringify(of.toJSON(), null, 1)}\n`;
  if (process.env['EVENTLANE_GOLDEN'] === 'write') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, actual);
  }
  return { expected: existsSync(path) ? readFileSync(path, 'utf8') : '', actual };
}
