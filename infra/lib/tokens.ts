/** Who signs the tokens, as the ingest's environment. */

import { RemovalPolicy, SecretValue } from 'aws-cdk-lib';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

import { acknowledge } from './nag';
import { Tokens } from './settings';

/** Bytes of a secret that the stack makes up; 32 is the least that the ingest takes. */
const SECRET_BYTES = 64;

export interface TokenSource {
  readonly environment: Record<string, string>;
  /** The name of the shared secret, where there is one. */
  readonly secretName?: string;
}

/** A secret comes in by a reference that CloudFormation resolves: the template never holds it. */
export function tokenSource(scope: Construct, prefix: string, tokens: Tokens): TokenSource {
  const environment: Record<string, string> = {};
  const set = (name: string, value: string | number | undefined) => {
    if (value !== undefined) environment[name] = String(value);
  };
  set('EVENTLANE_ISSUER', tokens.issuer);
  set('EVENTLANE_LEEWAY_SECONDS', tokens.leewaySeconds);
  if (tokens.kind === 'jwks') {
    set('EVENTLANE_AUDIENCE', [tokens.audience].flat().join(','));
    set('EVENTLANE_AUDIENCE_CLAIM', tokens.audienceClaim);
    set('EVENTLANE_TOKEN_USE', tokens.tokenUse);
    set('EVENTLANE_JWKS_URL', tokens.url);
    return { environment };
  }
  set('EVENTLANE_AUDIENCE', tokens.audience);
  const secretName = tokens.secretName ?? generated(scope, `${prefix}/hs256`);
  set('EVENTLANE_HS256_SECRET', SecretValue.secretsManager(secretName).unsafeUnwrap());
  return { environment, secretName };
}

function generated(scope: Construct, secretName: string): string {
  const secret = new Secret(scope, 'SigningSecret', {
    secretName,
    description: 'Signs the tokens that the ingest takes (HS256)',
    generateSecretString: { passwordLength: SECRET_BYTES, excludePunctuation: true },
    removalPolicy: RemovalPolicy.RETAIN,
  });
  acknowledge(secret, 'AwsSolutions-SMG4', 'whoever issues tokens signs with it too and must change together with it');
  return secret.secretArn;
}
