/** The whole lane as one stack: what the lock names and the settings choose. */

import { CfnOutput, Stack, StackProps, Tags } from 'aws-cdk-lib';
import { Architecture } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';

import { Alarms, AlarmsProps } from './alarms';
import { check } from './check';
import { dashboard } from './dashboard';
import { EventSourceDrain, ScheduledDrain } from './drain';
import { CodeSource } from './function';
import { Ingest } from './ingest';
import { eventSourceVisibilitySeconds, visibilitySeconds } from './limits';
import { queueUrlPrefix } from './naming';
import { StreamQueues, nudgeQueue } from './queues';
import { RelayDispatcher } from './relay';
import { Settings, resolve } from './settings';
import { ARCHIVE, CONSENT, LEDGER, table } from './tables';
import { tokenSource } from './tokens';

export interface LaneProps {
  readonly settings: Settings;
  /** The lock's streams. */
  readonly streams: readonly string[];
  /** A folder with `<function>/bootstrap` for each function, built already. */
  readonly prebuilt?: string | undefined;
  /** What the functions are built for. Default ARM. */
  readonly architecture?: Architecture | undefined;
}

export class LaneStack extends Stack {
  constructor(scope: Construct, props: LaneProps) {
    check(props.settings, props.streams);
    const settings = resolve(props.settings);
    const { prefix, drain, account, region } = settings;
    const stackProps: StackProps = {
      description: 'Eventlane: events from apps to their handlers',
      terminationProtection: true,
      ...(account === undefined || region === undefined ? {} : { env: { account, region } }),
    };
    super(scope, prefix, stackProps);
    for (const [key, value] of Object.entries(settings.tags)) Tags.of(this).add(key, value);
    const code: CodeSource = { prebuilt: props.prebuilt, architecture: props.architecture ?? Architecture.ARM_64 };

    const scheduledVisibility = visibilitySeconds(drain.timeoutSeconds);
    const eventSourceVisibility = eventSourceVisibilitySeconds(drain.timeoutSeconds);
    const isOnSource = (stream: string) => Object.hasOwn(drain.eventSources, stream);
    const queues = props.streams.map((stream) => {
      const visibility = isOnSource(stream) ? eventSourceVisibility : scheduledVisibility;
      return new StreamQueues(this, `Stream-${stream}`, {
        prefix,
        stream,
        visibilitySeconds: visibility,
        maxAttempts: drain.maxAttempts,
      });
    });
    const [onSource, onSchedule] = [true, false].map((wanted) =>
      queues.filter(({ stream }) => isOnSource(stream) === wanted),
    ) as [StreamQueues[], StreamQueues[]];

    const archive = table(this, 'Archive', `${prefix}-archive`, ARCHIVE);
    const ledger = settings.ledger ? table(this, 'Ledger', `${prefix}-ledger`, LEDGER) : undefined;
    const consent = settings.consent === undefined ? undefined : table(this, 'Consent', `${prefix}-consent`, CONSENT);

    // Without a stream for it there is nothing to wake.
    const nudges =
      onSchedule.length > 0 ? nudgeQueue(this, prefix, eventSourceVisibility) : undefined;
    const shared = { settings, archive, ledger, code };
    const scheduled =
      nudges === undefined
        ? undefined
        : new ScheduledDrain(this, 'Drain', {
            ...shared,
            queues: onSchedule,
            nudges,
            visibilitySeconds: scheduledVisibility,
          });
    const eventSource =
      onSource.length === 0
        ? undefined
        : new EventSourceDrain(this, 'SourceDrain', {
            ...shared,
            queues: onSource,
            eventSources: drain.eventSources,
            visibilitySeconds: eventSourceVisibility,
          });

    const tokens = tokenSource(this, prefix, settings.tokens);
    const ingest = new Ingest(this, 'Ingest', { settings, queues, tokens, nudges, consent, code });
    const relay =
      settings.relay === undefined
        ? undefined
        : new RelayDispatcher(this, 'Relay', { settings, relay: settings.relay, queues, code });

    const watched: AlarmsProps = {
      prefix,
      topicArn: settings.alarmTopicArn,
      queues,
      ingest,
      scheduled,
      eventSource,
      relay,
    };
    dashboard(this, new Alarms(this, 'Alarms', watched), watched);

    this.output('QueueUrlPrefix', queueUrlPrefix(prefix), 'For `eventlane --queue-url-prefix`');
    this.output('ArchiveTable', archive.tableName, 'For `eventlane archive --table`');
    this.output('QueueNames', queues.map(({ queue }) => queue.queueName).join(','), 'One queue a stream');
    const deadLetters = queues.map((stream) => stream.deadLetters.queueName).join(',');
    this.output('DeadLetterQueueNames', deadLetters, 'The dead letters of each');
    if (tokens.secretName !== undefined) {
      this.output('TokenSecret', tokens.secretName, 'The secret that signs tokens');
    }
  }

  private output(id: string, value: string, description: string): void {
    new CfnOutput(this, id, { value, description });
  }
}
