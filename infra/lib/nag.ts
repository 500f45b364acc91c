/** Findings of cdk-nag that are meant, each with its reason. */

import { Validations } from 'aws-cdk-lib';
import { IConstruct } from 'constructs';

export function acknowledge(construct: IConstruct, id: string, reason: string): void {
  Validations.of(construct).acknowledge({ id, reason });
}
