/** Nonsense in the settings, refused at synth in one error that names every offender. */

import { RetentionDays } from 'aws-cdk-lib/aws-logs';

import { PREFIX_CHARS } from './limits';
import { Resolved, Tokens } from './settings';

/** Collects what is wrong. */
class Faults {
  readonly list: string[] = [];

  need(holds: boolean, fault: string): void {
    if (!holds) this.list.push(fault);
  }

  /** A whole number between bounds; what is not set is fine. */
  whole(name: string, value: number | undefined, least: number, most: number, unit = ''): void {
    if (value === undefined) return;
    const fits = Number.isInteger(value) && value >= least && value <= most;
    this.need(fits, `${name} is ${value}, it must be a whole number${unit} from ${least} to ${most}`);
  }
}

/** Throws one error with every fault. */
export function check(settings: Resolved, streams: readonly string[]): void {
  const faults = new Faults();
  faults.need(
    /^[A-Za-z][A-Za-z0-9-]*$/.test(settings.prefix) && settings.prefix.length <= PREFIX_CHARS,
    `prefix is ${JSON.stringify(settings.prefix)}, it must be a letter, then letters, digits and hyphens, ` +
      `at most ${PREFIX_CHARS} characters`,
  );
  const account = settings.account;
  faults.need(account === undefined || /^\d{12}$/.test(account), 'account must be 12 digits');
  faults.need(
    (account === undefined) === (settings.region === undefined),
    'account and region must be set together, or neither',
  );
  checkTokens(faults, settings.tokens);
  checkFunctions(faults, settings);
  checkEventSources(faults, settings, streams);
  checkRelay(faults, settings);
  const claim = settings.consent?.claim;
  faults.need(
    claim === undefined || claim.split('.').every((part) => part.trim() !== ''),
    'consent.claim must be a path such as app_metadata.person_id, without an empty part',
  );
  const steps = Object.values(RetentionDays).filter((days) => typeof days === 'number' && days < 9999);
  faults.need(
    steps.includes(settings.logDays),
    `logDays is ${settings.logDays}, it must be one of ${steps.join(', ')}`,
  );
  const topic = settings.alarmTopicArn;
  faults.need(
    topic === undefined || /^arn:[a-z-]+:sns:[a-z0-9-]+:\d{12}:.+$/.test(topic),
    'alarmTopicArn must be the ARN of an SNS topic, arn:aws:sns:<region>:<account>:<name>',
  );
  if (faults.list.length > 0) {
    throw new Error(`infra/settings.ts can't be used:\n- ${faults.list.join('\n- ')}`);
  }
}

function checkTokens(faults: Faults, tokens: Tokens): void {
  faults.whole('tokens.leewaySeconds', tokens.leewaySeconds, 0, 300, ' of seconds');
  if (tokens.kind === 'hs256') {
    const name = tokens.secretName;
    faults.need(
      name === undefined || /^[A-Za-z0-9/_+=.@-]{1,512}$/.test(name),
      'tokens.secretName must be the name of a secret in Secrets Manager (not its value, not its ARN)',
    );
    return;
  }
  faults.need(URL.canParse(tokens.url) && new URL(tokens.url).protocol === 'https:', 'tokens.url must be an https URL');
  faults.need(tokens.issuer.trim() !== '', 'tokens.issuer must be set where keys come from a URL');
  const audiences = [tokens.audience].flat();
  faults.need(
    audiences.length > 0 && audiences.every((one) => one.trim() !== '' && !one.includes(',')),
    'tokens.audience must be set where keys come from a URL, without commas',
  );
}

function checkFunctions(faults: Faults, { ingest, drain }: Resolved): void {
  faults.whole('ingest.rate', ingest.rate, 1, 10_000, ' of requests a second');
  faults.whole('ingest.burst', ingest.burst, 1, 5_000, ' of requests');
  faults.whole('ingest.subjectRatePerMinute', ingest.subjectRatePerMinute, 1, 60_000, ' of requests');
  faults.whole('ingest.memoryMb', ingest.memoryMb, 128, 10_240, ' of MiB');
  faults.whole('ingest.reservedConcurrency', ingest.reservedConcurrency, 1, 1_000_000);
  faults.whole('drain.timeoutSeconds', drain.timeoutSeconds, 10, 900, ' of seconds');
  faults.whole('drain.marginSeconds', drain.marginSeconds, 0, drain.timeoutSeconds - 5, ' of seconds');
  faults.whole('drain.maxAttempts', drain.maxAttempts, 1, 100);
  faults.whole('drain.memoryMb', drain.memoryMb, 128, 10_240, ' of MiB');
  faults.whole('drain.reservedConcurrency', drain.reservedConcurrency, 1, 1_000_000);
}

function checkEventSources(faults: Faults, { drain }: Resolved, streams: readonly string[]): void {
  for (const [stream, source] of Object.entries(drain.eventSources)) {
    const name = `drain.eventSources.${stream}`;
    faults.need(
      streams.includes(stream),
      `${name}: no such stream in streams.lock.json, which has ${streams.join(', ') || 'none'}`,
    );
    faults.whole(`${name}.maximumConcurrency`, source.maximumConcurrency, 2, 1000);
    faults.whole(`${name}.batchSize`, source.batchSize, 1, 10, ' of messages');
  }
}

function checkRelay(faults: Faults, { relay }: Resolved): void {
  if (relay === undefined) return;
  faults.need(/^vpc-[0-9a-f]+$/.test(relay.vpcId), 'relay.vpcId must be the id of a VPC, vpc-…');
  faults.need(
    relay.subnetIds.length >= 1 && relay.subnetIds.every((id) => /^subnet-[0-9a-f]+$/.test(id)),
    'relay.subnetIds must be the ids of private subnets, subnet-…',
  );
  faults.need(
    relay.availabilityZones.length === relay.subnetIds.length,
    'relay.availabilityZones must name one zone a subnet, in the same order',
  );
  faults.need(
    /^sg-[0-9a-f]+$/.test(relay.databaseSecurityGroupId),
    'relay.databaseSecurityGroupId must be the id of a security group, sg-…',
  );
  faults.whole('relay.databasePort', relay.databasePort, 1, 65_535);
  faults.need(
    /^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:\d{12}:secret:.+-[A-Za-z0-9]{6}$/.test(relay.databaseSecretArn),
    'relay.databaseSecretArn must be the whole ARN of a secret, with the six characters at its end',
  );
}
