import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { check } from '../lib/check';
import { readStreams } from '../lib/lock';
import { Settings } from '../lib/settings';
import { settings as shipped } from '../settings';
import { ALL_ON_SOURCES, EVERYTHING, PLAIN, STREAMS } from './support';

const RELAY = EVERYTHING.relay!;

const HERE = { account: '123456789012', region: 'eu-west-1' };

/** The lines of the one error. */
function faults(settings: Settings): string[] {
  try {
    check(settings, STREAMS);
  } catch (error) {
    return (error as Error).message.split('\n- ').slice(1);
  }
  return [];
}

test('what is shipped can be deployed, and so can every option', () => {
  for (const settings of [shipped, PLAIN, EVERYTHING, ALL_ON_SOURCES]) assert.deepEqual(faults(settings), []);
});

test('nonsense is refused in one error that names every offender', () => {
  const found = faults({
    prefix: 'event_lane',
    account: '1',
    tokens: { kind: 'jwks', url: 'http://login.example.com', issuer: '', audience: ' ', leewaySeconds: 301 },
    consent: { claim: 'a..b' },
    ingest: { subjectRatePerMinute: 0, rate: 0, burst: 1.5, memoryMb: 100, reservedConcurrency: 0 },
    drain: {
      timeoutSeconds: 901,
      marginSeconds: 900,
      maxAttempts: 101,
      memoryMb: 99_999,
      reservedConcurrency: -1,
      eventSources: { unheard_of: { maximumConcurrency: 2 }, issue_viewed: { maximumConcurrency: 1, batchSize: 11 } },
    },
    relay: {
      vpcId: 'main',
      subnetIds: [],
      availabilityZones: ['eu-west-1a'],
      databaseSecurityGroupId: 'db',
      databasePort: 0,
      databaseSecretArn: 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:partial',
    },
    logDays: 31,
    alarmTopicArn: 'on-call',
  });
  const named = [
    'prefix is', 'account must', 'account and region', 'tokens.leewaySeconds', 'tokens.url', 'tokens.issuer',
    'tokens.audience', 'consent.claim', 'ingest.subjectRatePerMinute', 'ingest.rate', 'ingest.burst', 'ingest.memoryMb', 'ingest.reservedConcurrency',
    'drain.timeoutSeconds', 'drain.marginSeconds', 'drain.maxAttempts', 'drain.memoryMb',
    'drain.reservedConcurrency', 'drain.eventSources.unheard_of', 'drain.eventSources.issue_viewed.maximumConcurrency',
    'drain.eventSources.issue_viewed.batchSize', 'relay.vpcId', 'relay.subnetIds', 'relay.availabilityZones',
    'relay.databaseSecurityGroupId', 'relay.databasePort', 'relay.databaseSecretArn', 'logDays', 'alarmTopicArn',
  ];
  for (const name of named) assert.ok(found.some((fault) => fault.startsWith(name)), `${name} in:\n${found.join('\n')}`);
  assert.equal(found.length, named.length, 'and nothing else');
});

/** What each of these adds to a lane that is sound. */
const REFUSED: [name: string, settings: Partial<Settings>][] = [
  ['tokens.issuer', { tokens: { kind: 'hs256', issuer: ' ' } }],
  ['tokens.audience', { tokens: { kind: 'hs256', audience: '' } }],
  ['ingest.rate', { ingest: { front: 'function-url', rate: 100 } }],
  ['ingest.burst', { ingest: { front: 'function-url', burst: 200 } }],
  ['ingest.corsOrigins', { ingest: { corsOrigins: [] } }],
  ['ingest.corsOrigins', { ingest: { corsOrigins: ['*', 'https://app.example.com'] } }],
  ['ingest.corsOrigins', { ingest: { corsOrigins: ['https://app.example.com/'] } }],
  ['ingest.corsOrigins', { ingest: { corsOrigins: ['https://app.example.com:443'] } }],
  ['drain.reservedConcurrency', { drain: { reservedConcurrency: 2 } }],
  ['drain.reservedConcurrency', {
    drain: { ...ALL_ON_SOURCES.drain, reservedConcurrency: 2 * STREAMS.length - 1 },
  }],
  ['region', { account: '123456789012', region: 'Ireland' }],
  ['tags', { tags: { 'aws:owner': 'me' } }],
  ['tags', { tags: { '': 'me' } }],
  ['tags.team', { tags: { team: 'a'.repeat(257) } }],
  ['metricsNamespace', { metricsNamespace: 'AWS/Lambda' }],
  ['metricsNamespace', { metricsNamespace: 'a b' }],
  ['logLevel', { logLevel: 'loud' as 'info' }],
  ['alarmTopicArn', { ...HERE, alarmTopicArn: 'arn:aws:sns:us-east-1:123456789012:on-call' }],
  ['relay.databaseSecretArn', {
    ...HERE, relay: { ...RELAY, databaseSecretArn: RELAY.databaseSecretArn.replace('eu-west-1', 'us-east-1') },
  }],
  ['relay.subnetIds', { relay: { ...RELAY, subnetIds: ['subnet-0a'], availabilityZones: ['eu-west-1a'] } }],
  ['relay.subnetIds', { relay: { ...RELAY, subnetIds: ['subnet-0a', 'subnet-0a'] } }],
  ['relay.availabilityZones', { relay: { ...RELAY, availabilityZones: ['eu-west-1a', 'first'] } }],
  ['relay.availabilityZones', { ...HERE, relay: { ...RELAY, availabilityZones: ['eu-west-1a', 'us-east-1a'] } }],
  ['relay.topics', { relay: { ...RELAY, topics: { 'order.created': 'orders' } } }],
  ['relay.topics', { relay: { ...RELAY, topics: { 'a=b': 'earthquake' } } }],
  ['relay.reservedConcurrency', { relay: { ...RELAY, reservedConcurrency: 0 } }],
];

for (const [name, settings] of REFUSED) {
  test(`nothing but ${name} is refused of ${JSON.stringify(settings).slice(0, 100)}`, () => {
    const found = faults({ ...PLAIN, ...settings });
    assert.equal(found.length, 1, found.join('\n'));
    assert.ok(found[0]?.startsWith(name), found[0]);
  });
}

test('what is just inside is taken', () => {
  for (const settings of [
    { ingest: { corsOrigins: ['*'] } },
    { drain: { reservedConcurrency: 3 } },
    { drain: { ...ALL_ON_SOURCES.drain, reservedConcurrency: 2 * STREAMS.length } },
    { metricsNamespace: 'off' },
    { ...HERE, alarmTopicArn: 'arn:aws:sns:eu-west-1:123456789012:on-call' },
  ]) {
    assert.deepEqual(faults({ ...PLAIN, ...settings }), []);
  }
});

test('bounds are where they are said to be', () => {
  const drain = (timeoutSeconds: number, marginSeconds: number) => faults({ ...PLAIN, drain: { timeoutSeconds, marginSeconds } });
  assert.deepEqual([drain(10, 5), drain(900, 895)], [[], []]);
  assert.equal(drain(9, 4).length, 1);
  assert.equal(drain(60, 56).length, 1);
  assert.deepEqual(faults({ ...PLAIN, prefix: 'e'.repeat(45) }), []);
  assert.equal(faults({ ...PLAIN, prefix: 'e'.repeat(46) }).length, 1);
});

test('a lock that can’t be used says why, and how to get one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'));
  const read = (text: string) => {
    const path = join(folder, 'streams.lock.json');
    writeFileSync(path, text);
    return () => readStreams(path);
  };
  assert.throws(() => readStreams(join(folder, 'none.json')), /none\.json can't be read.*eventlane registry lock/);
  assert.throws(read('{'), /can't be read/);
  assert.throws(read('{"format":2,"streams":{}}'), /has format 2, this app reads 1/);
  assert.throws(read('{"format":1,"streams":[]}'), /has no map of streams/);
  assert.throws(read('{"format":1,"streams":{"Odd-Name":{},"fine":{}}}'), /can have no queue: Odd-Name;/);
  assert.deepEqual(read('{"format":1,"streams":{"b":{},"a":{}}}')(), ['a', 'b']);
});
