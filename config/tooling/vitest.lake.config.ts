import { defineConfig } from 'vitest/config';

/** What needs an engine of 550 MB: run by itself, never by `npm test`. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/lake/*.test.ts'],
    globalSetup: ['config/tooling/install-chdb.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    pool: 'forks',
    execArgv: ['--import', new URL('strip-types.mjs', import.meta.url).href],
    maxWorkers: 1,
  },
});
