/** What should wake somebody. */

import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  IAlarmAction,
  Metric,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';

import { ScheduledDrain, EventSourceDrain } from './drain';
import { Ingest } from './ingest';
import { StreamQueues } from './queues';
import { RelayDispatcher } from './relay';

const FIVE_MINUTES = Duration.minutes(5);

/** Messages in flight; at 120,000 SQS hands out nothing more. Source: SQS quotas, "In flight messages". */
const IN_FLIGHT = 100_000;

const DRAIN_FAILS = 'The drain can’t start, or ran out of time';
const RELAY_FAILS = 'The relay can’t start, can’t reach its database, or ran out of time';
const DRAIN_MISSED = 'The schedule has not run for ten minutes: nothing is delivered but by nudges';
const RELAY_MISSED = 'The relay’s schedule has not run for ten minutes: its outbox waits';

export interface AlarmsProps {
  readonly prefix: string;
  readonly topicArn?: string | undefined;
  readonly queues: readonly StreamQueues[];
  readonly ingest?: Ingest | undefined;
  readonly scheduled?: ScheduledDrain | undefined;
  readonly eventSource?: EventSourceDrain | undefined;
  readonly relay?: RelayDispatcher | undefined;
}

export class Alarms extends Construct {
  readonly all: Alarm[] = [];
  private readonly prefix: string;
  private readonly action: IAlarmAction | undefined;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.prefix = props.prefix;
    this.action =
      props.topicArn === undefined ? undefined : new SnsAction(Topic.fromTopicArn(this, 'Topic', props.topicArn));
    for (const queues of props.queues) this.ofStream(queues);
    if (props.ingest !== undefined) this.ofIngest(props.ingest);
    if (props.scheduled !== undefined) this.ofSchedule('', props.scheduled.scheduleGroup, DRAIN_MISSED);
    if (props.relay !== undefined) this.ofSchedule('relay-', props.relay.scheduleGroup, RELAY_MISSED);
    for (const [name, of, means] of [
      ['drain', props.scheduled, DRAIN_FAILS],
      ['drain-source', props.eventSource, DRAIN_FAILS],
      ['relay', props.relay, RELAY_FAILS],
    ] as const) {
      if (of === undefined) continue;
      this.over(`${name}-errors`, means, of.function.function.metricErrors({ period: FIVE_MINUTES }), 0);
    }
  }

  private ofStream({ stream, queue, deadLetters }: StreamQueues): void {
    const waiting = deadLetters.metricApproximateNumberOfMessagesVisible({ period: FIVE_MINUTES });
    this.over(`${stream}-dead-letters`, `${stream} has dead letters: look, fix, requeue`, waiting, 0);
    const age = queue.metricApproximateAgeOfOldestMessage({ period: FIVE_MINUTES });
    this.over(`${stream}-hour-old`, `${stream} has waited for an hour: nothing delivers it, or it fails`, age, 3_600);
    this.over(`${stream}-day-old`, `${stream} has waited for a day; events expire after ten`, age, 86_400);
    const inFlight = queue.metricApproximateNumberOfMessagesNotVisible({ period: FIVE_MINUTES });
    this.over(`${stream}-in-flight`, `${stream} is near what SQS hands out at once: who holds it?`, inFlight, IN_FLIGHT);
  }

  private ofIngest(ingest: Ingest): void {
    this.over('ingest-5xx', 'The ingest fails: clients keep their events and come again', ingest.serverErrors, 0);
    const throttles = ingest.function.function.metricThrottles({ period: FIVE_MINUTES });
    this.over('ingest-throttles', 'The ingest has reached its concurrency', throttles, 0);
  }

  /** `name` stands before the alarms' own; the drain's have none. */
  private ofSchedule(name: string, scheduleGroup: string, missed: string): void {
    const metric = (metricName: string) =>
      new Metric({
        namespace: 'AWS/Scheduler',
        metricName,
        dimensionsMap: { ScheduleGroup: scheduleGroup },
        statistic: Stats.SUM,
        period: FIVE_MINUTES,
      });
    this.add(
      new Alarm(this, `${name}schedule-missed`, {
        alarmName: `${this.prefix}-${name}schedule-missed`,
        alarmDescription: missed,
        metric: metric('InvocationAttemptCount'),
        threshold: 1,
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        evaluationPeriods: 2,
        treatMissingData: TreatMissingData.BREACHING,
      }),
    );
    this.over(`${name}schedule-failed`, 'The schedule can’t invoke its function', metric('TargetErrorCount'), 0);
  }

  /** In alarm as soon as five minutes' value is over the threshold. */
  private over(name: string, alarmDescription: string, metric: Metric, threshold: number): void {
    this.add(
      new Alarm(this, name, {
        alarmName: `${this.prefix}-${name}`,
        alarmDescription,
        metric,
        threshold,
        comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluationPeriods: 1,
        treatMissingData: TreatMissingData.NOT_BREACHING,
      }),
    );
  }

  private add(alarm: Alarm): void {
    if (this.action !== undefined) alarm.addAlarmAction(this.action);
    this.all.push(alarm);
  }
}
