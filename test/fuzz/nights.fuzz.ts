/**
 * Random nights: whatever the service answers, the operator configures and the calendar brings, every law holds.
 *
 * `RIPEN_FUZZ_SEQUENCES` says how many sequences, `RIPEN_FUZZ_SEED` and `RIPEN_FUZZ_PATH` repeat a failure as it was
 * printed, `RIPEN_FUZZ_LAWS` holds only some of the laws, `RIPEN_FUZZ_SHRINK=0` tells the first failure as it is.
 */

import { assert, asyncProperty } from 'fast-check';
import { test } from 'vitest';

import type { LawBroken } from './laws.ts';
import { runSequence } from './run-sequence.ts';
import { sequences } from './sequence.ts';

/** Half a minute on two busy cores. */
const SHORT = 6;
const LIMIT_MS = 60_000;

const environment = (name: string, otherwise: string): string => process.env[`RIPEN_FUZZ_${name}`] ?? otherwise;

const numRuns = Number(environment('SEQUENCES', String(SHORT)));
const seed = Number(environment('SEED', '1'));
const path = environment('PATH', '');
const held = environment('LAWS', 'abcdefghij');

const fail = (broken: LawBroken): never => {
  throw broken;
};

test(
  `after each night of ${numRuns} sequences (seed ${seed}) the laws ${held} hold`,
  async () => {
    await assert(
      asyncProperty(sequences, (sequence) => runSequence(sequence, held, fail)),
      { numRuns, seed, endOnFailure: environment('SHRINK', '1') === '0', ...(path === '' ? {} : { path }) },
    );
  },
  numRuns * LIMIT_MS,
);
