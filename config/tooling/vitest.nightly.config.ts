import { defineConfig } from 'vitest/config';

import { nightly, usual } from './suites.ts';

/** Runs everywhere, here in its long form. */
const inManyNights = 'test/integration/publish-released.test.ts';

export default defineConfig({ test: { ...usual, include: [...nightly, inManyNights] } });
