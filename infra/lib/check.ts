/** Nonsense in the settings, refused at synth in one error that names every offender. */

import { RetentionDays } from 'aws-cdk-lib/aws-logs';

import { NUDGED_AT_ONCE, PREFIX_CHARS } from './limits';
import { Resolved, Settings, Tokens, resolve } from './settings';

const REGION = /^[a-z]{2}(-[a-z]+)+-\d$/;

/** An availability zone: its region with a letter, or a local zone's longer name. */
const ZONE = /^[a-z]{2}(-[a-z]+)+-\d(-[a-z0-9-]+)?[a-z0-9]$/;

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'];

/** An origin as browsers send it, an app's own scheme among them; the scheme's own port is never said. */
const ORIGIN = /^(?!http:.*:80$|https:.*:443$)[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+(:\d+)?$/;

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

  /** What the stack refers to has to be where the stack is; an odd ARN is another fault. */
  sameRegion(name: string, arn: string | undefined, region: string | undefined): void {
    const there = arn?.split(':')[3];
    if (there === undefined || region === undefined) return;
    this.need(there === region, `${name} is in ${there}, the stack in ${region}`);
  }
}

/** Throws one error with every fault. */
export function check(chosen: Settings, streams: readonly string[]): void {
  const settings = resolve(chosen);
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
  const region = settings.region;
  faults.need(region === undefined || REGION.test(region), 'region must be one of AWS, such as eu-west-1');
  checkTokens(faults, settings.tokens);
  checkFunctions(faults, settings);
  checkFront(faults, chosen);
  checkEventSources(faults, settings, streams);
  checkReserved(faults, settings, streams);
  checkRelay(faults, settings, streams);
  checkTags(faults, settings.tags);
  const namespace = settings.metricsNamespace;
  faults.need(
    namespace === undefined || (/^[\w.\-/#:]{1,255}$/.test(namespace) && !namespace.startsWith('AWS/')),
    'metricsNamespace must be off, or 1 to 255 letters, digits and _.-/#:, not AWS’s own',
  );
  const level = settings.logLevel;
  faults.need(level === undefined || LEVELS.includes(level), `logLevel must be one of ${LEVELS.join(', ')}`);
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
  faults.sameRegion('alarmTopicArn', topic, region);
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
    faults.need(tokens.issuer?.trim() !== '', 'tokens.issuer must be left out, or say something');
    faults.need(tokens.audience?.trim() !== '', 'tokens.audience must be left out, or say something');
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

/** What only one of the fronts can keep. */
function checkFront(faults: Faults, { ingest }: Settings): void {
  for (const name of ['rate', 'burst'] as const) {
    faults.need(
      ingest?.front !== 'function-url' || ingest[name] === undefined,
      `ingest.${name} is of an http-api; only ingest.reservedConcurrency bounds a function-url`,
    );
  }
  const origins = ingest?.corsOrigins;
  faults.need(
    origins === undefined ||
      (origins.length === 1 && origins[0] === '*') ||
      (origins.length > 0 && origins.every((origin) => ORIGIN.test(origin))),
    'ingest.corsOrigins must be * alone, or origins such as https://app.example.com, lower case and without a path',
  );
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

/** A reserve that the pollers alone use up throttles them, and leaves the schedule none. */
function checkReserved(faults: Faults, { drain }: Resolved, streams: readonly string[]): void {
  const reserved = drain.reservedConcurrency;
  // Below 1 it is at fault already.
  if (reserved === undefined || reserved < 1) return;
  const sources = Object.values(drain.eventSources).reduce((sum, source) => sum + source.maximumConcurrency, 0);
  const isScheduled = streams.some((stream) => !Object.hasOwn(drain.eventSources, stream));
  const least = Math.max(sources, isScheduled ? NUDGED_AT_ONCE + 1 : 1);
  faults.need(
    reserved >= least,
    `drain.reservedConcurrency is ${reserved}, less than the ${least} that event sources, nudges and the schedule take`,
  );
}

/** Source: AWS's guide to tagging, "Tag naming limits and requirements". */
function checkTags(faults: Faults, tags: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(tags)) {
    faults.need(
      /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$/u.test(key) && !key.toLowerCase().startsWith('aws:'),
      `tags: ${JSON.stringify(key)} is no key: 1 to 128 letters, digits, spaces and _.:/=+-@, not beginning with aws:`,
    );
    faults.need(
      /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$/u.test(value),
      `tags.${key}: a value is at most 256 letters, digits, spaces and _.:/=+-@`,
    );
  }
}

function checkRelay(faults: Faults, { relay, region }: Resolved, streams: readonly string[]): void {
  if (relay === undefined) return;
  faults.need(/^vpc-[0-9a-f]+$/.test(relay.vpcId), 'relay.vpcId must be the id of a VPC, vpc-…');
  faults.need(
    new Set(relay.subnetIds).size >= 2 && relay.subnetIds.every((id) => /^subnet-[0-9a-f]+$/.test(id)),
    'relay.subnetIds must be the ids of two or more private subnets, subnet-…',
  );
  faults.need(
    relay.availabilityZones.length === relay.subnetIds.length,
    'relay.availabilityZones must name one zone a subnet, in the same order',
  );
  for (const zone of relay.availabilityZones) {
    faults.need(
      ZONE.test(zone) && (region === undefined || zone.startsWith(region)),
      `relay.availabilityZones: ${zone} is no zone of ${region ?? 'AWS, such as eu-west-1a'}`,
    );
  }
  faults.need(
    /^sg-[0-9a-f]+$/.test(relay.databaseSecurityGroupId),
    'relay.databaseSecurityGroupId must be the id of a security group, sg-…',
  );
  faults.whole('relay.databasePort', relay.databasePort, 1, 65_535);
  faults.need(
    /^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:\d{12}:secret:.+-[A-Za-z0-9]{6}$/.test(relay.databaseSecretArn),
    'relay.databaseSecretArn must be the whole ARN of a secret, with the six characters at its end',
  );
  faults.sameRegion('relay.databaseSecretArn', relay.databaseSecretArn, region);
  faults.whole('relay.reservedConcurrency', relay.reservedConcurrency, 1, 1_000_000);
  for (const [topic, stream] of Object.entries(relay.topics ?? {})) {
    faults.need(
      topic.trim() !== '' && !/[,=]/.test(topic) && streams.includes(stream),
      `relay.topics: ${JSON.stringify(topic)} must be without commas and =, and ${stream} a stream of the lock`,
    );
  }
}
