/** The ingest: a function behind an HTTP API, or behind a URL of its own. */

import { CfnOutput } from 'aws-cdk-lib';
import { CfnStage, HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { FunctionUrlAuthType } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Construct } from 'constructs';

import { environment } from './environment';
import { CodeSource, LaneFunction } from './function';
import { INGEST_TIMEOUT_SECONDS } from './limits';
import { acknowledge } from './nag';
import { StreamQueues } from './queues';
import { Resolved } from './settings';
import { TokenSource } from './tokens';

/** The one route. The function answers 405 itself; what is elsewhere never wakes it. */
const ROUTE = '/api/events';

/** What an access log says of a request: nothing that a client sent. */
const ACCESS = {
  requestId: '$context.requestId',
  at: '$context.requestTime',
  status: '$context.status',
  bytes: '$context.responseLength',
  milliseconds: '$context.responseLatency',
  error: '$context.integrationErrorMessage',
};

export interface IngestProps {
  readonly settings: Resolved;
  readonly queues: readonly StreamQueues[];
  readonly tokens: TokenSource;
  readonly nudges?: Queue | undefined;
  readonly consent?: TableV2 | undefined;
  readonly code: CodeSource;
}

export class Ingest extends Construct {
  readonly function: LaneFunction;
  /** Answers of 500 and above, a minute's sum. */
  readonly serverErrors: Metric;

  constructor(scope: Construct, id: string, props: IngestProps) {
    super(scope, id);
    const { settings, nudges, consent } = props;
    this.function = new LaneFunction(this, 'Handler', {
      binary: 'ingest',
      functionName: `${settings.prefix}-ingest`,
      description: 'Takes events: verifies, checks, stamps and enqueues them',
      timeoutSeconds: INGEST_TIMEOUT_SECONDS,
      memoryMb: settings.ingest.memoryMb,
      reservedConcurrency: settings.ingest.reservedConcurrency,
      logDays: settings.logDays,
      code: props.code,
      environment: environment(settings, {
        ...props.tokens.environment,
        EVENTLANE_CONSENT_TABLE: consent?.tableName,
        EVENTLANE_CONSENT_CLAIM: settings.consent?.claim,
        EVENTLANE_CONSENT_DEFAULT: settings.consent?.default,
        EVENTLANE_NUDGE_QUEUE_URL: nudges?.queueUrl,
        EVENTLANE_RATE_PER_MINUTE: settings.ingest.subjectRatePerMinute?.toString(),
        EVENTLANE_CORS_ORIGINS: settings.ingest.corsOrigins?.join(','),
        EVENTLANE_METRICS_NAMESPACE: settings.metricsNamespace,
      }),
    });
    const targets = props.queues.map(({ queue }) => queue.queueArn);
    this.function.allow(['sqs:SendMessage'], ...targets, ...(nudges === undefined ? [] : [nudges.queueArn]));
    if (consent !== undefined) this.function.allow(['dynamodb:GetItem'], consent.tableArn);
    const http = settings.ingest.front === 'http-api' ? this.httpApi(settings) : this.functionUrl();
    this.serverErrors = http.serverErrors;
    new CfnOutput(this, 'Url', { value: http.url, description: 'Where apps post their events' }).overrideLogicalId(
      'EventsUrl',
    );
  }

  private httpApi({ prefix, ingest, logDays }: Resolved): { url: string; serverErrors: Metric } {
    const api = new HttpApi(this, 'Api', {
      apiName: `${prefix}-ingest`,
      description: 'Takes events of Eventlane',
      createDefaultStage: false,
    });
    const [route] = api.addRoutes({
      path: ROUTE,
      methods: [HttpMethod.ANY],
      integration: new HttpLambdaIntegration('Handler', this.function.function),
    });
    const log = new LogGroup(this, 'AccessLog', {
      logGroupName: `/aws/http-api/${prefix}-ingest`,
      retention: logDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const stage = api.addStage('Stage', {
      autoDeploy: true,
      throttle: { rateLimit: ingest.rate, burstLimit: ingest.burst },
    });
    (stage.node.defaultChild as CfnStage).accessLogSettings = {
      destinationArn: log.logGroupArn,
      format: JSON.stringify(ACCESS),
    };
    if (route !== undefined) {
      acknowledge(
        route,
        'AwsSolutions-APIG4',
        'the function verifies the token before it reads the body, with keys and rules that an authorizer lacks',
      );
    }
    const serverErrors = new Metric({
      namespace: 'AWS/ApiGateway',
      metricName: '5xx',
      dimensionsMap: { ApiId: api.apiId },
      statistic: Stats.SUM,
      period: Duration.minutes(5),
    });
    return { url: `${api.apiEndpoint}${ROUTE}`, serverErrors };
  }

  private functionUrl(): { url: string; serverErrors: Metric } {
    const url = this.function.function.addFunctionUrl({ authType: FunctionUrlAuthType.NONE });
    const serverErrors = this.function.function.metric('Url5xxCount', {
      statistic: Stats.SUM,
      period: Duration.minutes(5),
    });
    // Ends with a slash already.
    return { url: `${url.url}${ROUTE.slice(1)}`, serverErrors };
  }
}
