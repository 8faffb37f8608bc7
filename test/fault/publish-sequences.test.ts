/** FAULTS 59: whatever became of a warehouse and its copies, after one undisturbed publish every copy equals the warehouse. */

import { expect, test } from 'vitest';

import { openWorld } from '../support/copy-worlds.ts';

/** 300 sequences of 30 nights in the long form. */
const SEQUENCES = Number(process.env['RIPEN_COPY_SEQUENCES'] ?? '1');
const NIGHTS = Number(process.env['RIPEN_COPY_NIGHTS'] ?? '10');
const FIRST_SEED = Number(process.env['RIPEN_COPY_SEED'] ?? '1');
/** How many nights may pass before the copies are compared. */
const COMPARED_EVERY = 10;

const seeds = Array.from({ length: SEQUENCES }, (_, index) => FIRST_SEED + index);

test.each(seeds)(
  `sequence %i of ${NIGHTS} nights with kills, full disks, restored, moved and spoilt copies ends with copies equal to the warehouse`,
  async (seed) => {
    const world = await openWorld(seed);
    for (let night = 1; night <= NIGHTS; night += 1) {
      await world.pass();
      const isCompared = night % COMPARED_EVERY === 0 || night === NIGHTS;
      const differences = isCompared ? await world.differences() : [];
      expect(differences, `seed ${seed}: ${world.done.join('; ')}`).toEqual([]);
    }
    await world.sample.close();
  },
  60_000 + NIGHTS * 20_000,
);
