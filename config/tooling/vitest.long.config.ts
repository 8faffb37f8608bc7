import { defineConfig } from 'vitest/config';

import { every, quick, usual } from './suites.ts';

export default defineConfig({ test: { ...usual, include: every, exclude: quick } });
