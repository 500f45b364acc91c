import assert from 'node:assert/strict';
import { test } from 'node:test';

import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Architecture } from 'aws-cdk-lib/aws-lambda';

import { LaneStack } from '../lib/stack';
import { EVERYTHING, STREAMS, resources, template } from './support';

/** Every function without where its code is. */
function functions(of: Template): Record<string, unknown> {
  const found = resources(of, 'AWS::Lambda::Function').map(([, it]) => {
    const { Code: _code, ...rest } = it.Properties;
    return [rest['FunctionName'], rest];
  });
  return Object.fromEntries(found);
}

test('what cargo-lambda builds is the same function as what is built already', () => {
  // Told to bundle for no stack, the construct says everything but compiles nothing.
  const app = new App({ analyticsReporting: false, context: { 'aws:cdk:bundling-stacks': [] } });
  const built = functions(Template.fromStack(new LaneStack(app, { settings: EVERYTHING, streams: STREAMS })));
  assert.deepEqual(built, functions(template(EVERYTHING)));
  for (const one of Object.values(built) as Record<string, unknown>[]) {
    assert.deepEqual(
      [one['Runtime'], one['Architectures'], one['Handler']],
      ['provided.al2023', [Architecture.ARM_64.name], 'bootstrap'],
    );
  }
});
