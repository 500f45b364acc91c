/** What the functions have in common: a role of their own, logs that end, no retry of Lambda's. */

import { join } from 'node:path';

import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { IVpc, ISecurityGroup } from 'aws-cdk-lib/aws-ec2';
import { Conditions, Effect, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Code, Function, FunctionOptions, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { RustFunction } from 'cargo-lambda-cdk';
import { Construct } from 'constructs';

import { EVENT_AGE_SECONDS } from './limits';

/** The checkout: this file runs as `infra/dist/lib/function.js`. */
export const ROOT = join(__dirname, '..', '..', '..');

/** Where the functions' code comes from. */
export interface CodeSource {
  /** A folder with `<binary>/bootstrap`, built already. Without it cargo-lambda builds. */
  readonly prebuilt?: string | undefined;
  readonly architecture: Architecture;
}

export interface LaneFunctionProps {
  /** The binary, and the package that has it: `functions/<binary>`. */
  readonly binary: string;
  readonly functionName: string;
  readonly description: string;
  readonly timeoutSeconds: number;
  readonly memoryMb: number;
  readonly reservedConcurrency?: number | undefined;
  readonly environment: Record<string, string>;
  readonly logDays: number;
  readonly code: CodeSource;
  readonly network?: { readonly vpc: IVpc; readonly securityGroup: ISecurityGroup };
}

/** One of the lane's functions. It may do what `allow` says, and write its own log. */
export class LaneFunction extends Construct {
  readonly function: Function;
  private readonly role: Role;

  constructor(scope: Construct, id: string, props: LaneFunctionProps) {
    super(scope, id);
    this.role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const logGroup = new LogGroup(this, 'Log', {
      logGroupName: `/aws/lambda/${props.functionName}`,
      retention: props.logDays,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.allow(['logs:CreateLogStream', 'logs:PutLogEvents'], logGroup.logGroupArn);
    const options: FunctionOptions = {
      functionName: props.functionName,
      description: props.description,
      role: this.role,
      logGroup,
      timeout: Duration.seconds(props.timeoutSeconds),
      memorySize: props.memoryMb,
      environment: props.environment,
      // The next pass is the retry; a second run of a late one only adds load.
      retryAttempts: 0,
      maxEventAge: Duration.seconds(EVENT_AGE_SECONDS),
      ...(props.reservedConcurrency === undefined
        ? {}
        : { reservedConcurrentExecutions: props.reservedConcurrency }),
      ...(props.network === undefined
        ? {}
        : { vpc: props.network.vpc, securityGroups: [props.network.securityGroup] }),
    };
    this.function = lambda(this, props, options);
  }

  /** Adds to the function's own policy. */
  allow(actions: string[], ...resources: string[]): void {
    if (resources.length > 0) this.role.addToPolicy(new PolicyStatement({ actions, resources }));
  }

  /** Takes away, on everything, where the conditions hold. */
  deny(actions: string[], conditions: Conditions): void {
    this.role.addToPolicy(new PolicyStatement({ effect: Effect.DENY, actions, resources: ['*'], conditions }));
  }
}

function lambda(scope: Construct, { binary, code }: LaneFunctionProps, options: FunctionOptions): Function {
  const { prebuilt, architecture } = code;
  if (prebuilt === undefined) {
    return new RustFunction(scope, 'Function', {
      ...options,
      manifestPath: join(ROOT, 'functions', binary, 'Cargo.toml'),
      binaryName: binary,
      bundling: { architecture, cargoLambdaFlags: ['--locked'] },
    });
  }
  return new Function(scope, 'Function', {
    ...options,
    runtime: Runtime.PROVIDED_AL2023,
    architecture,
    handler: 'bootstrap',
    code: Code.fromAsset(join(prebuilt, binary)),
  });
}
