/** One page to look at. */

import { Duration } from 'aws-cdk-lib';
import { AlarmStatusWidget, Dashboard, GraphWidget, IMetric } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';

import { AlarmsProps, Alarms } from './alarms';

/** Adds the dashboard `<prefix>`. */
export function dashboard(scope: Construct, alarms: Alarms, props: AlarmsProps): void {
  const { queues, ingest, scheduled, eventSource, relay } = props;
  const period = Duration.minutes(1);
  const graph = (title: string, left: IMetric[]) => new GraphWidget({ title, left, width: 12 });
  const page = new Dashboard(scope, 'Dashboard', { dashboardName: props.prefix });
  page.addWidgets(new AlarmStatusWidget({ title: 'Alarms', alarms: alarms.all, width: 24 }));
  const each = (of: (queues: (typeof props.queues)[number]) => IMetric) => queues.map(of);
  page.addWidgets(
    graph('Waiting', each(({ stream, queue }) =>
      queue.metricApproximateNumberOfMessagesVisible({ period, label: stream }))),
    graph('Age of the oldest, seconds', each(({ stream, queue }) =>
      queue.metricApproximateAgeOfOldestMessage({ period, label: stream }))),
    // SQS hands out nothing beyond 120,000 in flight.
    graph('In flight', each(({ stream, queue }) =>
      queue.metricApproximateNumberOfMessagesNotVisible({ period, label: stream }))),
    graph('Dead letters', each(({ stream, deadLetters }) =>
      deadLetters.metricApproximateNumberOfMessagesVisible({ period, label: stream }))),
  );
  const functions = [
    ['ingest', ingest?.function.function],
    ['drain', scheduled?.function.function],
    ['drain-source', eventSource?.function.function],
    ['relay', relay?.function.function],
  ] as const;
  const present = functions.flatMap(([label, of]) => (of === undefined ? [] : [{ label, of }]));
  page.addWidgets(
    graph('Invocations', present.map(({ label, of }) => of.metricInvocations({ period, label }))),
    graph('Errors', present.map(({ label, of }) => of.metricErrors({ period, label }))),
    graph('Duration, p99', present.map(({ label, of }) => of.metricDuration({ period, label, statistic: 'p99' }))),
    graph('Throttles', present.map(({ label, of }) => of.metricThrottles({ period, label }))),
  );
}
