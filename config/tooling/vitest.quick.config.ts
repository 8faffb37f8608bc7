import { defineConfig } from 'vitest/config';

import { quick, usual } from './suites.ts';

export default defineConfig({ test: { ...usual, include: quick } });
