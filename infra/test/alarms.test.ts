import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EVERYTHING, STREAMS, resources, template } from './support';

/** Metric, what it is more (or, `<`, less) than, and of how many seconds: as docs/operations.md has them. */
const ALARMS: Record<string, string> = {
  ...Object.fromEntries(
    STREAMS.flatMap((stream) => [
      [`${stream}-dead-letters`, 'AWS/SQS ApproximateNumberOfMessagesVisible > 0 of 300'],
      [`${stream}-hour-old`, 'AWS/SQS ApproximateAgeOfOldestMessage > 3600 of 300'],
      [`${stream}-day-old`, 'AWS/SQS ApproximateAgeOfOldestMessage > 86400 of 300'],
      [`${stream}-in-flight`, 'AWS/SQS ApproximateNumberOfMessagesNotVisible > 100000 of 300'],
    ]),
  ),
  'ingest-5xx': 'AWS/Lambda Url5xxCount > 0 of 300',
  'ingest-throttles': 'AWS/Lambda Throttles > 0 of 300',
  'drain-errors': 'AWS/Lambda Errors > 0 of 300',
  'drain-source-errors': 'AWS/Lambda Errors > 0 of 300',
  'relay-errors': 'AWS/Lambda Errors > 0 of 300',
  'schedule-missed': 'AWS/Scheduler InvocationAttemptCount < 1 of 300',
  'schedule-failed': 'AWS/Scheduler TargetErrorCount > 0 of 300',
  'relay-schedule-missed': 'AWS/Scheduler InvocationAttemptCount < 1 of 300',
  'relay-schedule-failed': 'AWS/Scheduler TargetErrorCount > 0 of 300',
};

const SIGNS: Record<string, string> = { GreaterThanThreshold: '>', LessThanThreshold: '<' };

const alarms = () => resources(template(EVERYTHING), 'AWS::CloudWatch::Alarm').map(([, it]) => it.Properties);

test('there is an alarm for each thing that operators are told to watch, and all tell the topic', () => {
  const found = alarms().map((it) => [
    (it['AlarmName'] as string).replace(/^lane-/, ''),
    `${it['Namespace']} ${it['MetricName']} ${SIGNS[it['ComparisonOperator'] as string]} ${it['Threshold']} of ${it['Period']}`,
  ]);
  assert.deepEqual(Object.fromEntries(found), ALARMS);
  for (const alarm of alarms()) assert.deepEqual(alarm['AlarmActions'], ['arn:aws:sns:eu-west-1:123456789012:on-call']);
});

test('a schedule that says nothing is missed; all else is quiet when nothing happens', () => {
  for (const alarm of alarms()) {
    const isMissed = (alarm['AlarmName'] as string).endsWith('schedule-missed');
    assert.equal(alarm['TreatMissingData'], isMissed ? 'breaching' : 'notBreaching');
    assert.equal(alarm['EvaluationPeriods'], isMissed ? 2 : 1);
  }
});

test('each alarm is about what it is named after', () => {
  const all = template(EVERYTHING);
  const functions = resources(all, 'AWS::Lambda::Function');
  const queues = resources(all, 'AWS::SQS::Queue');
  const called = (value: unknown): unknown => {
    const [id] = ((value as { 'Fn::GetAtt'?: string[] })['Fn::GetAtt'] ?? [(value as { Ref?: string }).Ref]) as string[];
    const [found] = [...functions, ...queues].filter(([one]) => one === id);
    return found === undefined ? value : (found[1].Properties['FunctionName'] ?? found[1].Properties['QueueName']);
  };
  const of = Object.fromEntries(
    alarms().map((it) => [it['AlarmName'], called((it['Dimensions'] as { Value: unknown }[])[0]?.Value)]),
  );
  assert.deepEqual(
    ['drain-errors', 'drain-source-errors', 'relay-errors', 'ingest-throttles', 'earthquake-dead-letters', 'earthquake-hour-old',
      'earthquake-in-flight', 'schedule-missed', 'relay-schedule-missed', 'relay-schedule-failed'].map((name) => of[`lane-${name}`]),
    ['lane-drain', 'lane-drain-source', 'lane-relay', 'lane-ingest', 'lane-earthquake-dlq', 'lane-earthquake',
      'lane-earthquake', 'lane-drain', 'lane-relay', 'lane-relay'],
  );
});

test('the dashboard shows every function and every alarm', () => {
  const all = template(EVERYTHING);
  all.resourceCountIs('AWS::CloudWatch::Dashboard', 1);
  const body = JSON.stringify(resources(all, 'AWS::CloudWatch::Dashboard'));
  for (const label of ['ingest', 'drain', 'drain-source', 'relay']) assert.ok(body.includes(`\\"label\\":\\"${label}\\"`), label);
  for (const [id] of resources(all, 'AWS::CloudWatch::Alarm')) assert.ok(body.includes(`["${id}","Arn"]`), id);
});
