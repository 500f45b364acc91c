import assert from 'node:assert/strict';
import { test } from 'node:test';

import { App, Stack, Validations } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';

import { EVERYTHING, PLAIN, stack } from './support';

/** Synthesises under cdk-nag's pack for AWS Solutions; findings are printed, and fail the synth. */
function judged(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  app.synth();
}

for (const [name, settings] of [['plain', PLAIN], ['everything', EVERYTHING]] as const) {
  test(`cdk-nag finds nothing with ${name} settings that has no reason beside it`, () => {
    judged(stack(settings).app);
  });
}

test('cdk-nag does look', () => {
  const app = new App({ analyticsReporting: false });
  new Bucket(new Stack(app, 'Bad'), 'Open');
  assert.throws(() => judged(app), /Validation failed/);
});
