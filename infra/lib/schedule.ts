/** Invokes a function once a minute, without a retry of the scheduler's own. */

import { Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnSchedule, CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';

import { LaneFunction } from './function';
import { EVENT_AGE_SECONDS } from './limits';

export class EveryMinute extends Construct {
  constructor(scope: Construct, id: string, name: string, description: string, lane: LaneFunction) {
    super(scope, id);
    // A group of its own has metrics of its own.
    const group = new CfnScheduleGroup(this, 'Group', { name });
    const { account } = Stack.of(this);
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': account, 'aws:SourceArn': group.attrArn } },
      }),
    });
    const target = lane.function.functionArn;
    role.addToPolicy(new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [target] }));
    const schedule = new CfnSchedule(this, 'Schedule', {
      name,
      groupName: name,
      description,
      scheduleExpression: 'rate(1 minute)',
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: target,
        roleArn: role.roleArn,
        input: '{}',
        retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: EVENT_AGE_SECONDS },
      },
    });
    schedule.node.addDependency(group, role);
  }
}
