import { defineConfig } from 'vitest/config';

/** One room after the other; each runs its own tests once for every mutant. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/mutation/*.test.ts'],
    globalSetup: ['config/tooling/install-stryker.ts'],
    testTimeout: 7_200_000,
    pool: 'forks',
    execArgv: ['--import', new URL('strip-types.mjs', import.meta.url).href],
    maxWorkers: 1,
    disableConsoleIntercept: true,
  },
});
