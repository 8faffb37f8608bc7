/** A new warehouse in a directory of its own, for tests of what is said to the engine. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openWarehouse } from '../../src/warehouse/opening.ts';
import { closedOnce } from './closing.ts';

/** Opens it, to be written to; the directory may hold files of the test, too. */
export async function openScratch() {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-scratch-'));
  const warehouse = await openWarehouse(join(directory, 'w.duckdb'), {
    mode: 'write',
    lockWaitMs: 0,
    emit: () => {},
  });
  const close = closedOnce(async () => {
    await warehouse.close();
    await rm(directory, { recursive: true });
  });
  return { directory, warehouse, close };
}
