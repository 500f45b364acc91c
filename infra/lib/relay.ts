/** The dispatcher of a service's transactional outbox: beside the database, off unless set. */

import { SecretValue, Stack } from 'aws-cdk-lib';
import {
  ISecurityGroup,
  IVpc,
  InterfaceVpcEndpoint,
  InterfaceVpcEndpointAwsService,
  Peer,
  Port,
  SecurityGroup,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { Construct } from 'constructs';

import { environment } from './environment';
import { CodeSource, LaneFunction } from './function';
import { acknowledge } from './nag';
import { StreamQueues } from './queues';
import { EveryMinute } from './schedule';
import { Relay, Resolved } from './settings';

/** Seconds of one run: a batch of rows, published one after the other. */
const TIMEOUT_SECONDS = 60;

const HTTPS = Port.tcp(443);

/** What Lambda needs to put a function into a network. Source: Lambda's guide for VPCs, "Execution role". */
const NETWORK_ACTIONS = [
  'ec2:CreateNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:DeleteNetworkInterface',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
];

/** What the function's own code may not do with the same role. Source: the same guide, "Security best practices". */
const NOT_BY_CODE = [...NETWORK_ACTIONS, 'ec2:DetachNetworkInterface'];

export interface RelayProps {
  readonly settings: Resolved;
  readonly relay: Relay;
  readonly queues: readonly StreamQueues[];
  readonly code: CodeSource;
}

export class RelayDispatcher extends Construct {
  readonly function: LaneFunction;
  readonly scheduleGroup: string;

  constructor(scope: Construct, id: string, { settings, relay, queues, code }: RelayProps) {
    super(scope, id);
    const vpc = Vpc.fromVpcAttributes(this, 'Network', {
      vpcId: relay.vpcId,
      availabilityZones: [...relay.availabilityZones],
      privateSubnetIds: [...relay.subnetIds],
    });
    const securityGroup = new SecurityGroup(this, 'SecurityGroup', {
      vpc,
      description: 'The relay: to its database and to SQS',
      allowAllOutbound: false,
    });
    const database = SecurityGroup.fromSecurityGroupId(this, 'Database', relay.databaseSecurityGroupId);
    securityGroup.connections.allowTo(database, Port.tcp(relay.databasePort), 'Its outbox');
    this.toSqs(vpc, securityGroup, relay.sqsEndpoint ?? true);
    const name = `${settings.prefix}-relay`;
    this.function = new LaneFunction(this, 'Handler', {
      binary: 'relay',
      functionName: name,
      description: 'Brings a service’s outbox to the lane’s queues',
      timeoutSeconds: TIMEOUT_SECONDS,
      memoryMb: 512,
      reservedConcurrency: relay.reservedConcurrency,
      logDays: settings.logDays,
      code,
      network: { vpc, securityGroup },
      environment: environment(settings, {
        EVENTLANE_RELAY_URL: SecretValue.secretsManager(relay.databaseSecretArn).unsafeUnwrap(),
        EVENTLANE_RELAY_TOPICS: pairs(relay.topics),
        EVENTLANE_RELAY_POOLER_SAFE: relay.poolerSafe?.toString(),
      }),
    });
    this.function.allow(['sqs:SendMessage'], ...queues.map(({ queue }) => queue.queueArn));
    this.function.allow(NETWORK_ACTIONS, '*');
    // By name: the function itself comes after its role.
    const self = Stack.of(this).formatArn({ service: 'lambda', resource: `function:${name}` });
    this.function.deny(NOT_BY_CODE, { ArnEquals: { 'lambda:SourceFunctionArn': [self] } });
    const reason = 'Lambda’s own network interfaces have no names before they exist';
    acknowledge(this.function, 'AwsSolutions-IAM5[Resource::*]', reason);
    this.scheduleGroup = name;
    new EveryMinute(this, 'Schedule', this.scheduleGroup, 'One run over the outbox', this.function);
  }

  private toSqs(vpc: IVpc, relay: ISecurityGroup, endpoint: boolean): void {
    if (!endpoint) {
      relay.addEgressRule(Peer.anyIpv4(), HTTPS, 'SQS, by the way out that the network has');
      return;
    }
    const securityGroup = new SecurityGroup(this, 'SqsSecurityGroup', {
      vpc,
      description: 'SQS, for the relay',
      allowAllOutbound: false,
    });
    new InterfaceVpcEndpoint(this, 'Sqs', {
      vpc,
      service: InterfaceVpcEndpointAwsService.SQS,
      securityGroups: [securityGroup],
      privateDnsEnabled: true,
      open: false,
    });
    relay.connections.allowTo(securityGroup, HTTPS, 'SQS');
  }
}

/** `topic=stream`, with commas, as the function reads it. */
function pairs(topics: Readonly<Record<string, string>> | undefined): string | undefined {
  return topics && Object.entries(topics).map(([topic, stream]) => `${topic}=${stream}`).join(',');
}
