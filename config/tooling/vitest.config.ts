import { defineConfig } from 'vitest/config';

import { every, usual } from './suites.ts';

export default defineConfig({ test: { ...usual, include: every } });
