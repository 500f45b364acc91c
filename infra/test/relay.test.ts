import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EVERYTHING, environment, resources, template } from './support';

interface Statement {
  readonly Effect: string;
  readonly Action: string | string[];
  readonly Resource: unknown;
  readonly Condition?: { ArnEquals: { 'lambda:SourceFunctionArn': unknown[] } };
}

test('the relay is told what was chosen', () => {
  const variables = environment(template(EVERYTHING), 'lane-relay');
  assert.equal(
    variables['EVENTLANE_RELAY_TOPICS'],
    'issue.viewed=issue_viewed,bird.struck=bird_strike,earthquake=earthquake,graded=review_graded',
  );
  assert.equal(variables['EVENTLANE_RELAY_POOLER_SAFE'], 'true');
  const { relay, ...rest } = EVERYTHING;
  const { topics: _topics, poolerSafe: _poolerSafe, ...least } = relay!;
  const known = Object.keys(environment(template({ ...rest, relay: least }), 'lane-relay'));
  assert.deepEqual(known.filter((name) => /TOPICS|POOLER/.test(name)), []);
});

test('network interfaces are Lambda’s to make, not the relay’s own code’s', () => {
  const [found] = resources(template(EVERYTHING), 'AWS::IAM::Policy').filter(([id]) => id.startsWith('RelayHandler'));
  const { Statement } = found![1].Properties['PolicyDocument'] as { Statement: Statement[] };
  const [allowed, denied] = ['Allow', 'Deny'].map((effect) =>
    Statement.filter((one) => one.Effect === effect && one.Resource === '*'),
  );
  assert.deepEqual([allowed?.length, denied?.length], [1, 1]);
  for (const action of allowed![0]!.Action) assert.ok(denied![0]!.Action.includes(action), action);
  const [self] = denied![0]!.Condition!.ArnEquals['lambda:SourceFunctionArn'];
  assert.match(JSON.stringify(self), /:lambda:eu-west-1:123456789012:function:lane-relay"/);
});
