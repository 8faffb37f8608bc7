import { defineConfig } from 'vitest/config';

import { usual } from './suites.ts';

/** Every supported version of Node and other installers: run by itself, as it fetches them. */
export default defineConfig({
  test: {
    ...usual,
    include: ['test/nodes/*.test.ts'],
    globalSetup: ['config/tooling/install-nodes.ts'],
    testTimeout: 900_000,
    maxWorkers: 1,
  },
});
