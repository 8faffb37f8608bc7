import { defineConfig } from 'vitest/config';

import { every, nightly, quick, usual } from './suites.ts';

// Many of these wait for a process, a lock or a clock: a third worker keeps two cores busy.
export default defineConfig({
  test: { ...usual, include: every, exclude: [...quick, ...nightly], maxWorkers: 3 },
});
