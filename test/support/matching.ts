/** Matchers for a value inside an expected object. */

import { expect } from 'vitest';

/** Any text that holds these words. */
export const textWith = (words: string): unknown => expect.stringContaining(words);
