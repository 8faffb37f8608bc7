import { defineConfig } from 'vitest/config';

import { usual } from './suites.ts';

/** What needs a real S3 server: run by itself, never by `npm test`. */
export default defineConfig({
  test: {
    ...usual,
    include: ['test/s3/*.test.ts'],
    globalSetup: ['config/tooling/install-ceph.ts'],
    maxWorkers: 1,
  },
});
