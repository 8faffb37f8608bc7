import { defineConfig } from 'vitest/config';

import { longer, nightly, usual } from './suites.ts';

export default defineConfig({ test: { ...usual, include: [...nightly, ...longer] } });
