import { defineConfig } from 'vitest/config';

/** What people look at, in a real browser of 117 MB: run by itself, never by `npm test`. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/browser/*.test.ts'],
    globalSetup: ['config/tooling/install-browser.ts'],
    testTimeout: 180_000,
    hookTimeout: 600_000,
    pool: 'forks',
    execArgv: ['--import', new URL('strip-types.mjs', import.meta.url).href],
    maxWorkers: 1,
  },
});
