/** Which tests a newcomer waits for, within a minute on 2 cores, and all others, which CI runs besides. */

import type { InlineConfig } from 'vitest/node';

/** The laws and formulas but the slowest, the wire, and one whole night through every door. */
export const quick = [
  'test/{unit,property}/**/!(columns|links-fitting|news|plan-cubes|status).test.ts',
  'test/fault/service-*.test.ts',
  'test/integration/sync.test.ts',
  'test/e2e/cli.test.ts',
];

export const every = [
  'test/{unit,property,integration,fault,e2e}/**/*.test.ts',
  'test/fuzz/*.fuzz.ts',
];

/**
 * What takes longer than a change can wait for: kills and failures at every step, chaos, many worlds and nights, fuzz; and what
 * daily work seldom touches: several accounts, hosts of other zones, Delta tables in a store that fails.
 */
export const nightly = [
  'test/fault/{failing-steps,publish-delta-store,publish-kills,sync-chaos}.test.ts',
  'test/fault/answers-odd.test.ts',
  'test/integration/{agreement-nights,control-watch,cube-half-year,empty-history}.test.ts',
  'test/integration/{insight-nights,publish-accounts,wide-worlds}.test.ts',
  'test/e2e/hosts.test.ts',
  'test/fuzz/nights.fuzz.ts',
];

/** What the nightly run repeats in a longer form, as `npm run test:nightly` sets it. */
export const longer = [
  'test/fault/{publish-delta-steps,publish-sequences}.test.ts',
  'test/fuzz/pairs.fuzz.ts',
];

/** What all suites share. */
export const usual: InlineConfig = {
  root: new URL('../..', import.meta.url).pathname,
  setupFiles: [new URL('seed.ts', import.meta.url).pathname],
  testTimeout: 180_000,
  hookTimeout: 180_000,
  pool: 'forks',
  // Files that share a process share what they import: each puts back what it changes of time, environment and prototypes.
  isolate: false,
  // Threads inherit the flags of the process that starts them.
  execArgv: ['--import', new URL('strip-types.mjs', import.meta.url).href],
  maxWorkers: 2,
};
