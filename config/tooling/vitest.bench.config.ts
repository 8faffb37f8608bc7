import { defineConfig } from 'vitest/config';

/** One file after another in one worker: what is measured must not be disturbed by its neighbour. */
export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/bench/*.bench.ts'],
    testTimeout: 900_000,
    hookTimeout: 900_000,
    pool: 'forks',
    execArgv: ['--import', new URL('strip-types.mjs', import.meta.url).href],
    maxWorkers: 1,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});
