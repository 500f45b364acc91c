/** The same stack on an emulator, and the few choices that can't be kept there. */

import { Settings } from './settings';

/**
 * Account and region are the emulator's. Tokens are signed with a secret that the stack makes up,
 * since no identity provider is there; without a service's database there is no relay.
 */
export function local(settings: Settings): Settings {
  const { account: _account, region: _region, relay: _relay, ...kept } = settings;
  return { ...kept, tokens: { kind: 'hs256' } };
}
