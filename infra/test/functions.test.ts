import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Match, Template } from 'aws-cdk-lib/assertions';

import { EVERYTHING, PLAIN, STREAMS, resources, template } from './support';

function environment(of: Template, functionName: string): Record<string, unknown> {
  const [found] = resources(of, 'AWS::Lambda::Function').filter(
    ([, it]) => (it.Properties['FunctionName'] as string) === functionName,
  );
  assert.ok(found, `${functionName} is there`);
  return (found[1].Properties['Environment'] as { Variables: Record<string, unknown> }).Variables;
}

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
  assert.deepEqual(reserved(template(EVERYTHING)).sort(), [10, 10, 50, null]);
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
    assert.deepEqual([it.DeletionPolicy, it.UpdateReplacePolicy], ['Retain', 'Retain'], id);
  }
});

test('there is an alarm for each thing that operators are told to watch, and all tell the topic', () => {
  const all = template(EVERYTHING);
  const alarms = resources(all, 'AWS::CloudWatch::Alarm').map(([, it]) => it.Properties);
  const names = alarms.map((it) => it['AlarmName'] as string).sort();
  const expected = [
    ...STREAMS.flatMap((stream) => ['dead-letters', 'hour-old', 'day-old'].map((what) => `lane-${stream}-${what}`)),
    ...['ingest-5xx', 'ingest-throttles', 'drain-errors', 'drain-source-errors', 'schedule-missed', 'schedule-failed'].map(
      (what) => `lane-${what}`,
    ),
  ];
  assert.deepEqual(names, expected.sort());
  for (const alarm of alarms) assert.deepEqual(alarm['AlarmActions'], ['arn:aws:sns:eu-west-1:123456789012:on-call']);
  all.hasResourceProperties('AWS::CloudWatch::Alarm', { AlarmName: 'lane-schedule-missed', TreatMissingData: 'breaching' });
  all.resourceCountIs('AWS::CloudWatch::Dashboard', 1);
});

test('tags are on what can carry them', () => {
  for (const [id, queue] of resources(template(EVERYTHING), 'AWS::SQS::Queue')) {
    const tags = (queue.Properties['Tags'] as { Key: string; Value: string }[]).map(({ Key, Value }) => `${Key}=${Value}`);
    assert.deepEqual(tags.sort(), ['app=eventlane', 'team=telemetry'], id);
  }
});

test('the outputs say where to post and what the command needs', () => {
  const outputs = Object.keys(template(PLAIN).toJSON()['Outputs']).sort();
  assert.deepEqual(outputs, ['ArchiveTable', 'EventsUrl', 'QueueNames', 'QueueUrlPrefix', 'TokenSecret']);
});
