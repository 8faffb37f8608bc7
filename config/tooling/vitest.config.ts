import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/{unit,property,integration,fault,e2e}/**/*.test.ts', 'test/fuzz/*.fuzz.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    // Threads inherit the flags of the process that starts them.
    execArgv: ['--import', new URL('strip-types.mjs', import.meta.url).href],
    maxWorkers: 2,
  },
});
