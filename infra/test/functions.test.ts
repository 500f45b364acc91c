import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Match, Template } from 'aws-cdk-lib/assertions';

import { ALL_ON_SOURCES, EVERYTHING, PLAIN, environment, resources, template } from './support';

// F3
test('a function is never invoked twice for one event: Lambda’s retries and the schedule’s are 0', () => {
  for (const settings of [PLAIN, EVERYTHING]) {
    const all = template(settings);
    const invoke = resources(all, 'AWS::Lambda::EventInvokeConfig');
    assert.equal(invoke.length, resources(all, 'AWS::Lambda::Function').length);
    for (const [, config] of invoke) {
      assert.equal(config.Properties['MaximumRetryAttempts'], 0);
      assert.equal(config.Properties['MaximumEventAgeInSeconds'], 60);
    }
    for (const [, schedule] of resources(all, 'AWS::Scheduler::Schedule')) {
      const { RetryPolicy } = schedule.Properties['Target'] as { RetryPolicy: object };
      assert.deepEqual(RetryPolicy, { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
    }
  }
});

test('streams on event sources are on no schedule, and the other way round', () => {
  const all = template(EVERYTHING);
  assert.equal(environment(all, 'lane-drain')['EVENTLANE_STREAMS'], 'bird_strike,earthquake');
  assert.equal(environment(all, 'lane-drain-source')['EVENTLANE_STREAMS'], 'issue_viewed,review_graded');
  const mappings = resources(all, 'AWS::Lambda::EventSourceMapping').map(([, it]) => it.Properties);
  const sizes = mappings.map((it) => [it['BatchSize'], (it['ScalingConfig'] as { MaximumConcurrency: number }).MaximumConcurrency]);
  assert.deepEqual(sizes.sort(), [[1, 5], [10, 2], [10, 2]]);
  for (const mapping of mappings) assert.deepEqual(mapping['FunctionResponseTypes'], ['ReportBatchItemFailures']);
});

test('with every stream on a source there is no schedule and nothing to nudge', () => {
  const all = template(ALL_ON_SOURCES);
  for (const type of ['AWS::Scheduler::Schedule', 'AWS::Scheduler::ScheduleGroup']) all.resourceCountIs(type, 0);
  const names = resources(all, 'AWS::Lambda::Function').map(([, it]) => it.Properties['FunctionName'] as string);
  assert.deepEqual(names.sort(), ['eventlane-drain-source', 'eventlane-ingest']);
  assert.equal(environment(all, 'eventlane-ingest')['EVENTLANE_NUDGE_QUEUE_URL'], undefined);
  assert.ok(resources(all, 'AWS::SQS::Queue').every(([, it]) => !(it.Properties['QueueName'] as string).endsWith('nudge')));
});

test('a stream may have the name of what every object has', () => {
  const all = template(PLAIN, ['constructor']);
  assert.equal(environment(all, 'eventlane-drain')['EVENTLANE_STREAMS'], 'constructor');
});

test('level and namespace are told to the functions that read them', () => {
  const all = template(EVERYTHING);
  for (const name of ['lane-ingest', 'lane-drain', 'lane-drain-source', 'lane-relay']) {
    assert.equal(environment(all, name)['EVENTLANE_LOG'], 'debug', name);
    const namespace = name === 'lane-relay' ? undefined : 'Telemetry/Events';
    assert.equal(environment(all, name)['EVENTLANE_METRICS_NAMESPACE'], namespace, name);
  }
  assert.equal(environment(all, 'lane-ingest')['EVENTLANE_CORS_ORIGINS'], 'https://app.example.com,capacitor://localhost');
});

test('the schedule runs each minute and may invoke nothing but the drain', () => {
  const all = template(PLAIN);
  all.hasResourceProperties('AWS::Scheduler::Schedule', { ScheduleExpression: 'rate(1 minute)', State: Match.absent() });
  const [found] = resources(all, 'AWS::IAM::Policy').filter(([id]) => id.includes('Schedule'));
  assert.ok(found);
  const { Statement } = found[1].Properties['PolicyDocument'] as { Statement: object[] };
  assert.equal(Statement.length, 1);
  assert.match(JSON.stringify(Statement), /"Action":"lambda:InvokeFunction".*"DrainHandlerFunction[0-9A-F]+","Arn"/);
});

test('concurrency is reserved only when asked for', () => {
  const reserved = (all: Template) =>
    resources(all, 'AWS::Lambda::Function').map(([, it]) => it.Properties['ReservedConcurrentExecutions'] ?? null);
  assert.deepEqual(reserved(template(PLAIN)), [null, null]);
  assert.deepEqual(reserved(template(EVERYTHING)).sort(), [1, 10, 10, 50]);
});

test('no secret is in the template', () => {
  for (const settings of [PLAIN, { tokens: { kind: 'hs256', secretName: 'mine' } } as const]) {
    const all = template(settings);
    assert.match(JSON.stringify(environment(all, 'eventlane-ingest')['EVENTLANE_HS256_SECRET']), /\{\{resolve:secretsmanager:/);
  }
  const { EVENTLANE_JWKS_URL, EVENTLANE_ISSUER, EVENTLANE_AUDIENCE, EVENTLANE_LEEWAY_SECONDS, EVENTLANE_HS256_SECRET } =
    environment(template(EVERYTHING), 'lane-ingest');
  assert.deepEqual(
    [EVENTLANE_JWKS_URL, EVENTLANE_ISSUER, EVENTLANE_AUDIENCE, EVENTLANE_LEEWAY_SECONDS, EVENTLANE_HS256_SECRET],
    ['https://login.example.com/.well-known/jwks.json', 'https://login.example.com/', 'events,events-beta', '10', undefined],
  );
});

test('the HTTP API is throttled and has the one route', () => {
  const all = template(PLAIN);
  all.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
    StageName: '$default',
    DefaultRouteSettings: { ThrottlingRateLimit: 100, ThrottlingBurstLimit: 200 },
  });
  all.hasResourceProperties('AWS::ApiGatewayV2::Route', { RouteKey: 'ANY /api/events' });
  all.resourceCountIs('AWS::ApiGatewayV2::Route', 1);
  template(EVERYTHING).resourceCountIs('AWS::ApiGatewayV2::Api', 0);
  template(EVERYTHING).resourceCountIs('AWS::Lambda::Url', 1);
});

test('each function has a role of its own, and logs that end', () => {
  const all = template(EVERYTHING);
  const functions = resources(all, 'AWS::Lambda::Function').map(([, it]) => it.Properties);
  assert.equal(new Set(functions.map((it) => JSON.stringify(it['Role']))).size, functions.length);
  for (const [, role] of resources(all, 'AWS::IAM::Role')) assert.equal(role.Properties['ManagedPolicyArns'], undefined);
  const logs = resources(all, 'AWS::Logs::LogGroup');
  assert.equal(logs.length, functions.length);
  for (const [, log] of logs) assert.equal(log.Properties['RetentionInDays'], 90);
});

/** Keys and time-to-live, as the functions read and write them. */
const TABLES: Record<string, unknown> = {
  'lane-archive': [['pk:HASH', 'sk:RANGE'], 'ttl'],
  'lane-ledger': [['pk:HASH'], 'ttl'],
  'lane-consent': [['subject:HASH'], null],
};

test('tables are paid by use, restorable to a point in time, and outlive the stack', () => {
  const all = template(EVERYTHING);
  const tables = resources(all, 'AWS::DynamoDB::GlobalTable');
  assert.deepEqual(tables.map(([, it]) => it.Properties['TableName'] as string).sort(), [
    'lane-archive',
    'lane-consent',
    'lane-ledger',
  ]);
  for (const [id, it] of tables) {
    assert.equal(it.Properties['BillingMode'], 'PAY_PER_REQUEST', id);
    const [replica] = it.Properties['Replicas'] as object[];
    assert.match(JSON.stringify(replica), /"PointInTimeRecoveryEnabled":true/);
    assert.match(JSON.stringify(replica), /"DeletionProtectionEnabled":true/);
    const keys = it.Properties['KeySchema'] as { AttributeName: string; KeyType: string }[];
    const ttl = it.Properties['TimeToLiveSpecification'] as { AttributeName: string; Enabled: boolean } | undefined;
    const what = [keys.map((key) => `${key.AttributeName}:${key.KeyType}`), ttl?.Enabled === true ? ttl.AttributeName : null];
    assert.deepEqual(what, TABLES[it.Properties['TableName'] as string], id);
    assert.deepEqual([it.DeletionPolicy, it.UpdateReplacePolicy], ['Retain', 'Retain'], id);
  }
});

test('tags are on what can carry them', () => {
  for (const [id, queue] of resources(template(EVERYTHING), 'AWS::SQS::Queue')) {
    const tags = (queue.Properties['Tags'] as { Key: string; Value: string }[]).map(({ Key, Value }) => `${Key}=${Value}`);
    assert.deepEqual(tags.sort(), ['app=eventlane', 'team=telemetry'], id);
  }
});

test('the outputs say where to post and what the command needs', () => {
  const outputs = Object.keys(template(PLAIN).toJSON()['Outputs']).sort();
  assert.deepEqual(outputs, ['ArchiveTable', 'DeadLetterQueueNames', 'EventsUrl', 'QueueNames', 'QueueUrlPrefix', 'TokenSecret']);
});
