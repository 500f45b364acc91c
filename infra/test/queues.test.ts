import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Match } from 'aws-cdk-lib/assertions';

import { EVERYTHING, PLAIN, STREAMS, resources, template } from './support';

const DAY = 86_400;

/** Queues by name. */
function queues(settings = PLAIN, streams?: readonly string[]) {
  const found = resources(template(settings, streams), 'AWS::SQS::Queue');
  return new Map(found.map(([, queue]) => [queue.Properties['QueueName'] as string, queue]));
}

test('each stream of the lock has a queue and a dead-letter queue, and no other queue is there but the nudges', () => {
  const expected = STREAMS.flatMap((stream) => [`eventlane-${stream}`, `eventlane-${stream}-dlq`]);
  assert.deepEqual([...queues().keys()].sort(), [...expected, 'eventlane-drain-nudge'].sort());
});

// F1
test('dead letters are kept for 14 days, longer than their queue’s 10: a moved message keeps its first send time', () => {
  const all = queues();
  for (const stream of STREAMS) {
    const [queue, dead] = [all.get(`eventlane-${stream}`), all.get(`eventlane-${stream}-dlq`)];
    assert.equal(queue?.Properties['MessageRetentionPeriod'], 10 * DAY);
    assert.equal(dead?.Properties['MessageRetentionPeriod'], 14 * DAY);
  }
});

// F5
for (const settings of [PLAIN, EVERYTHING]) {
  test(`visibility is never below what its function may take (${settings.prefix ?? 'plain'})`, () => {
    const all = template(settings);
    const prefix = settings.prefix ?? 'eventlane';
    const found = resources(all, 'AWS::Lambda::Function').filter(([, it]) => 'EVENTLANE_STREAMS' in variables(it));
    assert.ok(found.length > 0);
    for (const [, drain] of found) {
      const { EVENTLANE_STREAMS, EVENTLANE_VISIBILITY_SECONDS } = variables(drain);
      const timeout = drain.Properties['Timeout'] as number;
      const isSource = (drain.Properties['FunctionName'] as string).endsWith('-source');
      for (const stream of EVENTLANE_STREAMS!.split(',')) {
        const visibility = queues(settings).get(`${prefix}-${stream}`)?.Properties['VisibilityTimeout'];
        assert.equal(visibility, isSource ? 6 * timeout : timeout, stream);
        assert.equal(String(visibility), EVENTLANE_VISIBILITY_SECONDS, 'the drain leases for as long');
      }
    }
    const nudges = queues(settings).get(`${prefix}-drain-nudge`)?.Properties['VisibilityTimeout'];
    assert.equal(nudges, 6 * (settings.drain?.timeoutSeconds ?? 60));
  });
}

function variables(lambda: { Properties: Record<string, unknown> }): Record<string, string> {
  return (lambda.Properties['Environment'] as { Variables: Record<string, string> }).Variables;
}

test('the backstop is ten times the attempts, to the stream’s own dead letters, which take from nobody else', () => {
  const all = template(EVERYTHING);
  for (const stream of STREAMS) {
    const [[id]] = resources(all, 'AWS::SQS::Queue').filter(
      ([, queue]) => queue.Properties['QueueName'] === `lane-${stream}-dlq`,
    ) as [[string, unknown]];
    all.hasResourceProperties('AWS::SQS::Queue', {
      QueueName: `lane-${stream}`,
      RedrivePolicy: { deadLetterTargetArn: { 'Fn::GetAtt': [id, 'Arn'] }, maxReceiveCount: 70 },
    });
    all.hasResourceProperties('AWS::SQS::Queue', {
      QueueName: `lane-${stream}-dlq`,
      RedriveAllowPolicy: {
        redrivePermission: 'byQueue',
        sourceQueueArns: [Match.objectLike({ 'Fn::Join': ['', Match.arrayWith([`:sqs:eu-west-1:123456789012:lane-${stream}`])] })],
      },
    });
  }
});

test('every queue is encrypted, takes a whole message, and is refused to all but TLS', () => {
  const all = template(PLAIN);
  const policies = resources(all, 'AWS::SQS::QueuePolicy').map(([, policy]) => policy.Properties);
  for (const [id, queue] of resources(all, 'AWS::SQS::Queue')) {
    assert.equal(queue.Properties['SqsManagedSseEnabled'], true);
    const [policy, ...more] = policies.filter(({ Queues }) => (Queues as { Ref: string }[]).some(({ Ref }) => Ref === id));
    assert.deepEqual(more, [], id);
    assert.deepEqual((policy?.['PolicyDocument'] as { Statement: unknown }).Statement, [
      {
        Action: 'sqs:*',
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
        Effect: 'Deny',
        Principal: { AWS: '*' },
        Resource: { 'Fn::GetAtt': [id, 'Arn'] },
      },
    ]);
  }
  for (const stream of STREAMS) {
    for (const name of [`eventlane-${stream}`, `eventlane-${stream}-dlq`]) {
      assert.equal(queues().get(name)?.Properties['MaximumMessageSize'], 1_048_576);
    }
  }
});

test('a removed stream’s queues stay when they leave the stack, and stay closed; nudges go', () => {
  const all = template(PLAIN);
  for (const type of ['AWS::SQS::Queue', 'AWS::SQS::QueuePolicy']) {
    for (const [id, resource] of resources(all, type)) {
      const kept = id.startsWith('Nudges') ? 'Delete' : 'Retain';
      assert.equal(resource.DeletionPolicy ?? 'Delete', kept, id);
      assert.equal(resource.UpdateReplacePolicy ?? 'Delete', kept, id);
    }
  }
});

test('a stream less changes no other stream’s queues', () => {
  const of = (streams: readonly string[]) =>
    ['AWS::SQS::Queue', 'AWS::SQS::QueuePolicy'].flatMap((type) => resources(template(PLAIN, streams), type));
  const [first, ...rest] = STREAMS;
  const left = new Map(of(rest));
  const gone = of(STREAMS).filter(([id]) => !left.has(id));
  assert.equal(gone.length, 4, String(gone.map(([id]) => id)));
  for (const [id] of gone) assert.ok(id.startsWith(`Stream${first!.replaceAll('_', '')}`), id);
  for (const [id, queue] of of(STREAMS)) if (left.has(id)) assert.deepEqual(left.get(id), queue, id);
});

test('no stream is a legal lane: an ingest, and nothing to drain', () => {
  const all = template(PLAIN, []);
  assert.deepEqual(resources(all, 'AWS::SQS::Queue'), []);
  assert.equal(resources(all, 'AWS::Lambda::Function').length, 1);
});
