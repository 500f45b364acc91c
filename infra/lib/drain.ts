/** The drain: one bounded pass a minute and a nudge, and beside it streams on event sources. */

import { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { CfnEventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

import { environment } from './environment';
import { CodeSource, LaneFunction } from './function';
import { NUDGED_AT_ONCE } from './limits';
import { StreamQueues } from './queues';
import { EveryMinute } from './schedule';
import { EventSource, Resolved } from './settings';

/** What a function needs of the queue that Lambda reads for it. */
const POLL = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];

export interface DrainProps {
  readonly settings: Resolved;
  readonly queues: readonly StreamQueues[];
  readonly archive: TableV2;
  readonly ledger?: TableV2 | undefined;
  readonly code: CodeSource;
}

/** The function in one of its hosts, with its rights on its streams and on nobody else's. */
function drainFunction(
  scope: Construct,
  id: string,
  functionName: string,
  visibilitySeconds: number,
  props: DrainProps,
): LaneFunction {
  const { settings, queues, archive, ledger } = props;
  const { drain } = settings;
  const created = new LaneFunction(scope, id, {
    binary: 'drain',
    functionName,
    description: 'Delivers events to their handlers',
    timeoutSeconds: drain.timeoutSeconds,
    memoryMb: drain.memoryMb,
    reservedConcurrency: drain.reservedConcurrency,
    logDays: settings.logDays,
    code: props.code,
    environment: environment(settings, {
      EVENTLANE_STREAMS: queues.map(({ stream }) => stream).join(','),
      EVENTLANE_ARCHIVE_TABLE: archive.tableName,
      EVENTLANE_LEDGER_TABLE: ledger?.tableName,
      EVENTLANE_VISIBILITY_SECONDS: String(visibilitySeconds),
      EVENTLANE_MAX_ATTEMPTS: String(drain.maxAttempts),
      EVENTLANE_HALVE: String(drain.halve),
      EVENTLANE_MARGIN_SECONDS: String(drain.marginSeconds),
      EVENTLANE_METRICS_NAMESPACE: settings.metricsNamespace,
    }),
  });
  const sources = queues.map(({ queue }) => queue.queueArn);
  const deadLetters = queues.map((stream) => stream.deadLetters.queueArn);
  // Beside reading: a lease is renewed, and what failed in part goes back as a message of its own.
  created.allow([...POLL, 'sqs:ChangeMessageVisibility', 'sqs:SendMessage'], ...sources);
  created.allow(['sqs:SendMessage'], ...deadLetters);
  created.allow(['dynamodb:PutItem'], archive.tableArn);
  if (ledger !== undefined) {
    created.allow(['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'], ledger.tableArn);
  }
  return created;
}

/** The drain of every stream that is on no event source. The schedule is the delivery guarantee. */
export class ScheduledDrain extends Construct {
  readonly function: LaneFunction;
  readonly scheduleGroup: string;

  constructor(scope: Construct, id: string, props: DrainProps & { visibilitySeconds: number; nudges: Queue }) {
    super(scope, id);
    const { prefix } = props.settings;
    this.function = drainFunction(this, 'Handler', `${prefix}-drain`, props.visibilitySeconds, props);
    this.function.allow(POLL, props.nudges.queueArn);
    // A pass counts what a stream holds, dead letters too, before it calls the stream empty.
    this.function.allow(['sqs:GetQueueAttributes'], ...props.queues.map(({ deadLetters }) => deadLetters.queueArn));
    new CfnEventSourceMapping(this, 'Nudge', {
      functionName: this.function.function.functionName,
      eventSourceArn: props.nudges.queueArn,
      batchSize: 10,
      scalingConfig: { maximumConcurrency: NUDGED_AT_ONCE },
      functionResponseTypes: ['ReportBatchItemFailures'],
    }).node.addDependency(this.function);

    this.scheduleGroup = `${prefix}-drain`;
    new EveryMinute(this, 'Schedule', this.scheduleGroup, 'One bounded pass over the streams', this.function);
  }
}

/** The drain of the streams whose queues invoke it. They are never on the schedule too. */
export class EventSourceDrain extends Construct {
  readonly function: LaneFunction;

  constructor(
    scope: Construct,
    id: string,
    props: DrainProps & { visibilitySeconds: number; eventSources: Readonly<Record<string, EventSource>> },
  ) {
    super(scope, id);
    const { prefix } = props.settings;
    this.function = drainFunction(this, 'Handler', `${prefix}-drain-source`, props.visibilitySeconds, props);
    for (const { stream, queue } of props.queues) {
      const source = props.eventSources[stream];
      if (source === undefined) continue;
      new CfnEventSourceMapping(this, `Source-${stream}`, {
        functionName: this.function.function.functionName,
        eventSourceArn: queue.queueArn,
        batchSize: source.batchSize ?? 1,
        scalingConfig: { maximumConcurrency: source.maximumConcurrency },
        functionResponseTypes: ['ReportBatchItemFailures'],
      }).node.addDependency(this.function);
    }
  }
}
