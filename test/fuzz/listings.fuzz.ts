/**
 * Random nights of links and partners: whatever the lists do, every law holds.
 *
 * `RIPEN_FUZZ_LISTINGS` says how many sequences, `RIPEN_FUZZ_SEED` and `RIPEN_FUZZ_PATH` repeat a failure as it was printed.
 */

import { assert, asyncProperty } from 'fast-check';
import { test } from 'vitest';

import { runListings } from './listing-nights.ts';
import { listingSequences } from './listing-world.ts';

/** Some ten seconds on two busy cores. */
const SHORT = 6;
const LIMIT_MS = 60_000;

const environment = (name: string, otherwise: string): string => process.env[`RIPEN_FUZZ_${name}`] ?? otherwise;

const numRuns = Number(environment('LISTINGS', String(SHORT)));
const seed = Number(environment('SEED', '1'));
const path = environment('PATH', '');

test(
  `after each night of ${numRuns} sequences (seed ${seed}) links and partners are as listed, or as they were`,
  async () => {
    await assert(asyncProperty(listingSequences, runListings), { numRuns, seed, ...(path === '' ? {} : { path }) });
  },
  numRuns * LIMIT_MS,
);
