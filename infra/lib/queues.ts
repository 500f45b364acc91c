/** A stream's two queues, and the queue of nudges. */

import { CfnResource, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnQueuePolicy, IQueue, Queue, QueueEncryption, QueueProps, RedrivePermission } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

import { DEAD_LETTER_DAYS, MESSAGE_BYTES, NUDGE_SECONDS, QUEUE_DAYS, maxReceiveCount } from './limits';
import { deadLetterQueueName, nudgeQueueName, queueName } from './naming';
import { acknowledge } from './nag';

/** What both kinds have: encrypted at rest, and refused over anything but TLS. */
const PROTECTED: QueueProps = { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };

export interface StreamQueuesProps {
  readonly prefix: string;
  readonly stream: string;
  readonly visibilitySeconds: number;
  readonly maxAttempts: number;
}

/**
 * A stream's queue and its dead letters. Both outlive their removal from the stack: what is deleted
 * by CloudFormation takes its messages with it.
 */
export class StreamQueues extends Construct {
  readonly stream: string;
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, props: StreamQueuesProps) {
    super(scope, id);
    this.stream = props.stream;
    const name = queueName(props.prefix, props.stream);
    this.deadLetters = new Queue(this, 'DeadLetters', {
      ...PROTECTED,
      queueName: deadLetterQueueName(props.prefix, props.stream),
      retentionPeriod: Duration.days(DEAD_LETTER_DAYS),
      maxMessageSizeBytes: MESSAGE_BYTES,
      removalPolicy: RemovalPolicy.RETAIN,
      // By name: by reference each queue would need the other first.
      redriveAllowPolicy: { redrivePermission: RedrivePermission.BY_QUEUE, sourceQueues: [named(this, name)] },
    });
    this.queue = new Queue(this, 'Queue', {
      ...PROTECTED,
      queueName: name,
      retentionPeriod: Duration.days(QUEUE_DAYS),
      maxMessageSizeBytes: MESSAGE_BYTES,
      visibilityTimeout: Duration.seconds(props.visibilitySeconds),
      removalPolicy: RemovalPolicy.RETAIN,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: maxReceiveCount(props.maxAttempts) },
    });
    for (const queue of [this.queue, this.deadLetters]) retainPolicy(queue);
  }
}

/** The queue whose messages wake the drain. They carry nothing that could be lost. */
export function nudgeQueue(scope: Construct, prefix: string, visibilitySeconds: number): Queue {
  const queue = new Queue(scope, 'Nudges', {
    ...PROTECTED,
    queueName: nudgeQueueName(prefix),
    retentionPeriod: Duration.seconds(NUDGE_SECONDS),
    visibilityTimeout: Duration.seconds(visibilitySeconds),
    removalPolicy: RemovalPolicy.DESTROY,
  });
  acknowledge(queue, 'AwsSolutions-SQS3', 'a nudge that fails is worth nothing: the schedule comes anyway');
  return queue;
}

function named(scope: Construct, name: string): IQueue {
  return Queue.fromQueueArn(scope, 'Source', Stack.of(scope).formatArn({ service: 'sqs', resource: name }));
}

/** A retained queue stays closed to everything but TLS. */
function retainPolicy(queue: Queue): void {
  for (const child of queue.node.findAll()) {
    if (child instanceof CfnQueuePolicy) (child as CfnResource).applyRemovalPolicy(RemovalPolicy.RETAIN);
  }
}
