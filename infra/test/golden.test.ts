import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EVERYTHING, PLAIN, golden, template } from './support';

for (const [name, settings] of [['plain', PLAIN], ['everything', EVERYTHING]] as const) {
  test(`the template with ${name} settings is as it was; \`cargo xtask golden\` rewrites it`, () => {
    const { expected, actual } = golden(name, template(settings));
    assert.equal(actual, expected);
  });
}
