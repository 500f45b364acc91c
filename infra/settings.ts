/** The one file to edit before a deployment; `lib/settings.ts` says what each choice means. */

import { Settings } from './lib/settings';

export const settings: Settings = {
  prefix: 'eventlane',
  // Your users' tokens, from your identity provider:
  //   tokens: {
  //     kind: 'jwks',
  //     url: 'https://login.example.com/.well-known/jwks.json',
  //     issuer: 'https://login.example.com/',
  //     audience: 'events',
  //   },
  // Until then a secret that the stack makes up and keeps in Secrets Manager.
  tokens: { kind: 'hs256' },
};
