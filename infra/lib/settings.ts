/** What can be chosen, with its units, bounds and defaults. The choice itself stands in `../settings.ts`. */

/** Who signs the tokens that the ingest takes. */
export type Tokens =
  | {
      /** Public keys fetched from an identity provider. */
      readonly kind: 'jwks';
      /** The key set's https URL, such as `https://login.example.com/.well-known/jwks.json`. */
      readonly url: string;
      /** What `iss` must be. */
      readonly issuer: string;
      /** What the audience claim must hold, or several of which it must hold one. */
      readonly audience: string | readonly string[];
      /** The claim that carries the audience. Amazon Cognito's access tokens have `client_id`. Default `aud`. */
      readonly audienceClaim?: 'aud' | 'client_id';
      /** What `token_use` must be, with Amazon Cognito. Default: not looked at. */
      readonly tokenUse?: 'access' | 'id';
      /** Seconds by which times may be off, 0 to 300. Default 30. */
      readonly leewaySeconds?: number;
    }
  | {
      /** One shared secret in Secrets Manager. The template holds a reference, never the secret. */
      readonly kind: 'hs256';
      /** The name of a secret that exists, a text of at least 32 bytes. Without it the stack makes one. */
      readonly secretName?: string;
      /** What `iss` must be. Default: not looked at. */
      readonly issuer?: string;
      /** What `aud` must hold. Default: not looked at. */
      readonly audience?: string;
      /** Seconds by which times may be off, 0 to 300. Default 30. */
      readonly leewaySeconds?: number;
    };

/** A stream whose queue invokes the drain by itself, instead of the schedule. */
export interface EventSource {
  /** Invocations at once, 2 to 1000. */
  readonly maximumConcurrency: number;
  /** Messages an invocation, 1 to 10. Default 1: a message is a sub-batch of many events already. */
  readonly batchSize?: number;
}

/** The gate that asks a table, keyed by `subject`, what a token's holder allows and declines. */
export interface Consent {
  /** What holds where the table says nothing. Default `deny`. */
  readonly default?: 'deny' | 'allow';
  /** The claim that is the subject, a path with dots. Default `sub`. */
  readonly claim?: string;
}

/** The dispatcher of a service's transactional outbox, in the database's network. */
export interface Relay {
  /** The network: its id, two or more private subnets and their availability zones, pairwise. */
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  readonly availabilityZones: readonly string[];
  /** The database's security group; the relay is let in on `databasePort`. */
  readonly databaseSecurityGroupId: string;
  /** 1 to 65535; PostgreSQL's own is 5432. */
  readonly databasePort: number;
  /**
   * Whole ARN of the secret with the database's URL, a text such as `postgres://user:password@host/db`.
   * It is resolved when the stack is deployed: who may read the function's configuration reads it there.
   */
  readonly databaseSecretArn: string;
  /** Whether to make an SQS endpoint in the network. `false` where it has one, or a way out. Default `true`. */
  readonly sqsEndpoint?: boolean;
  /** Streams by the outbox's topics. Default: each stream takes the topic of its own name. */
  readonly topics?: Readonly<Record<string, string>>;
  /** Whether RDS Proxy or pgbouncer stands before the database. Default `false`. */
  readonly poolerSafe?: boolean;
  /** Invocations kept for it, and its most; one is enough. Default none: a new account has none to keep. */
  readonly reservedConcurrency?: number;
}

/** The functions' own lines from this level up. */
export type LogLevel = 'error' | 'warn' | 'info' | 'debug' | 'trace';


/** Every choice. What is left out has the default that stands beside it. */
export interface Settings {
  /** First part of every name; letters, digits and hyphens, at most 45. Also the stack's name. Default `eventlane`. */
  readonly prefix?: string;
  /** Where to deploy, 12 digits. Set with `region` or not at all. Default: what the AWS profile says. */
  readonly account?: string;
  /** Such as `eu-west-1`. */
  readonly region?: string;
  readonly tokens: Tokens;
  readonly ingest?: {
    /** `http-api` is throttled; `function-url` costs less and is bounded by `reservedConcurrency` alone. Default `http-api`. */
    readonly front?: 'http-api' | 'function-url';
    /** Requests a second before 429, 1 to 10000, of an `http-api` alone. Default 100. */
    readonly rate?: number;
    /** Requests at once before 429, 1 to 5000, of an `http-api` alone. Default 200. */
    readonly burst?: number;
    /** Requests a minute of one subject, 1 to 60000, before 429. Default: no such limit. */
    readonly subjectRatePerMinute?: number;
    /** MiB, 128 to 10240. Default 512. */
    readonly memoryMb?: number;
    /** Invocations kept for it, and its most. Default none: a new account has none to keep. */
    readonly reservedConcurrency?: number;
    /** Origins whose web pages may post, such as `https://app.example.com`, or `*` alone. Default none. */
    readonly corsOrigins?: readonly string[];
  };
  readonly drain?: {
    /** Seconds of an invocation, 10 to 900. The queues' visibility follows from it. Default 60. */
    readonly timeoutSeconds?: number;
    /** Seconds before the deadline in which no callback starts; less than the timeout. Default 5. */
    readonly marginSeconds?: number;
    /** Attempts before a dead letter, 1 to 100. Default 5. */
    readonly maxAttempts?: number;
    /** Whether to try halves of a sub-batch on its last attempt. Default `false`. */
    readonly halve?: boolean;
    /** MiB, 128 to 10240. Default 512. */
    readonly memoryMb?: number;
    /**
     * Invocations kept for each drain, and its most: more than the nudges' 2, so that the schedule has
     * room, and no less than the sum of its event sources. Default none: a new account has none to keep.
     */
    readonly reservedConcurrency?: number;
    /** Streams on event sources, by name. All others are the schedule's. Default none. */
    readonly eventSources?: Readonly<Record<string, EventSource>>;
  };
  /** Whether handlers are behind an idempotency ledger. The shipped archive needs none. Default `false`. */
  readonly ledger?: boolean;
  /** Default none: the lane's own gate decides alone. `{}` makes the table, with its defaults. */
  readonly consent?: Consent;
  /** Default none. */
  readonly relay?: Relay;
  /** CloudWatch's namespace of the functions' own metrics, or `off`. Default `Eventlane`. */
  readonly metricsNamespace?: string;
  /** Default `info`. */
  readonly logLevel?: LogLevel;
  /** Days that logs are kept; one of CloudWatch's steps. Default 30. */
  readonly logDays?: number;
  /** ARN of an SNS topic that alarms tell. Default none: they show on the dashboard. */
  readonly alarmTopicArn?: string;
  /** On everything. Default `{ app: 'eventlane' }`. */
  readonly tags?: Readonly<Record<string, string>>;
}

type Filled<T> = { readonly [K in keyof T]-?: NonNullable<T[K]> };

/** What of the ingest is off where it isn't set. */
type NoDefault = 'reservedConcurrency' | 'subjectRatePerMinute' | 'corsOrigins';

/** Settings with every default in its place. */
export interface Resolved extends Omit<Settings, 'ingest' | 'drain'> {
  readonly prefix: string;
  readonly ingest: Omit<Filled<NonNullable<Settings['ingest']>>, NoDefault> &
    Pick<NonNullable<Settings['ingest']>, NoDefault>;
  readonly drain: Omit<Filled<NonNullable<Settings['drain']>>, 'reservedConcurrency'> &
    Pick<NonNullable<Settings['drain']>, 'reservedConcurrency'>;
  readonly ledger: boolean;
  readonly logDays: number;
  readonly tags: Readonly<Record<string, string>>;
}

/** Puts the defaults where nothing was chosen. */
export function resolve(settings: Settings): Resolved {
  return {
    ...settings,
    prefix: settings.prefix ?? 'eventlane',
    ingest: { front: 'http-api', rate: 100, burst: 200, memoryMb: 512, ...settings.ingest },
    drain: {
      timeoutSeconds: 60,
      marginSeconds: 5,
      maxAttempts: 5,
      halve: false,
      memoryMb: 512,
      eventSources: {},
      ...settings.drain,
    },
    ledger: settings.ledger ?? false,
    logDays: settings.logDays ?? 30,
    tags: settings.tags ?? { app: 'eventlane' },
  };
}
