/** What a configuration has removed for its age, and what is told where nobody confirms this machine's clock, so that nothing is. */

import type { Config } from '../config/config.ts';

/** What is to be told where the service's answers do not tell the time; null where nothing is to be removed for its age. */
export function unconfirmedAges({
  archiveMs,
  publish,
  slices,
}: Pick<Config, 'archiveMs' | 'publish' | 'slices'>): { readonly message: string; readonly hint: string } | null {
  const growing = [
    ...(publish.some((target) => target.kind === 'delta' && target.keepMs > 0) ? ['old versions of Delta tables'] : []),
    ...(slices.some(({ retainDays }) => retainDays !== null) ? ['periods that `retain` lets go'] : []),
    ...(archiveMs === null ? [] : ['archived answers']),
  ];
  if (growing.length === 0) return null;
  return {
    message: `The service's answers did not tell the time (no Date header), so that nothing confirms this machine's clock: ${growing.join(', ')} are not removed for their age.`,
    hint: 'Let the header Date through the proxy, or give each run `--as-of` with the instant it was scheduled for.',
  };
}
