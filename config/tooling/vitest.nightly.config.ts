import { defineConfig } from 'vitest/config';

import { nightly, usual } from './suites.ts';

export default defineConfig({ test: { ...usual, include: nightly } });
