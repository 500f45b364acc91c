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

const FIVE_MINUTES = Duration.minutes(5);

export interface AlarmsProps {
  readonly prefix: string;
  readonly topicArn?: string | undefined;
  readonly queues: readonly StreamQueues[];
  readonly ingest?: Ingest | undefined;
  readonly scheduled?: ScheduledDrain | undefined;
  readonly eventSource?: EventSourceDrain | undefined;
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
    if (props.scheduled !== undefined) this.ofSchedule(props.scheduled);
    for (const [name, drain] of [
      ['drain', props.scheduled],
      ['drain-source', props.eventSource],
    ] as const) {
      if (drain === undefined) continue;
      const errors = drain.function.function.metricErrors({ period: FIVE_MINUTES });
      this.over(`${name}-errors`, 'The drain can’t start, or ran out of time', errors, 0);
    }
  }

  private ofStream({ stream, queue, deadLetters }: StreamQueues): void {
    const waiting = deadLetters.metricApproximateNumberOfMessagesVisible({ period: FIVE_MINUTES });
    this.over(`${stream}-dead-letters`, `${stream} has dead letters: look, fix, requeue`, waiting, 0);
    const age = queue.metricApproximateAgeOfOldestMessage({ period: FIVE_MINUTES });
    this.over(`${stream}-hour-old`, `${stream} has waited for an hour: nothing delivers it, or it fails`, age, 3_600);
    this.over(`${stream}-day-old`, `${stream} has waited for a day; events expire after ten`, age, 86_400);
  }

  private ofIngest(ingest: Ingest): void {
    this.over('ingest-5xx', 'The ingest fails: clients keep their events and come again', ingest.serverErrors, 0);
    const throttles = ingest.function.function.metricThrottles({ period: FIVE_MINUTES });
    this.over('ingest-throttles', 'The ingest has reached its concurrency', throttles, 0);
  }

  private ofSchedule({ scheduleGroup }: ScheduledDrain): void {
    const metric = (metricName: string) =>
      new Metric({
        namespace: 'AWS/Scheduler',
        metricName,
        dimensionsMap: { ScheduleGroup: scheduleGroup },
        statistic: Stats.SUM,
        period: FIVE_MINUTES,
      });
    this.add(
      new Alarm(this, 'schedule-missed', {
        alarmName: `${this.prefix}-schedule-missed`,
        alarmDescription: 'The schedule has not run for ten minutes: nothing is delivered but by nudges',
        metric: metric('InvocationAttemptCount'),
        threshold: 1,
        comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
        evaluationPeriods: 2,
        treatMissingData: TreatMissingData.BREACHING,
      }),
    );
    this.over('schedule-failed', 'The schedule can’t invoke the drain', metric('TargetErrorCount'), 0);
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
