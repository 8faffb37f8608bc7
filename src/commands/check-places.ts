/** The places on disk a run would write to, looked at without writing. */

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { Config } from '../config/config.ts';
import { asFailure, Failure } from '../errors.ts';
import { findingOf, type Finding } from './finding.ts';
import { withWarehouse } from './open.ts';

/** A check does not wait for a nightly run. */
const NO_WAIT_MS = 0;

/** Destinations that could not be written, and a warehouse that could not be used. */
export async function placeFindings(config: Config): Promise<Finding[]> {
  const targets = config.publish.filter((target) => !target.path.includes('://'));
  const writable = await Promise.all(
    [{ what: 'warehouse', path: config.warehouse }, ...targets.map(({ kind, path }) => ({ what: kind, path }))].map(
      async ({ what, path }) => unwritable(what, path),
    ),
  );
  return [...writable.flat(), ...(await warehouseFindings(config.warehouse))];
}

/** Whether the path, or else the nearest directory above it that exists, can be written. */
async function unwritable(what: string, path: string): Promise<Finding[]> {
  const existing = await nearestExisting(path);
  try {
    await access(existing, constants.W_OK);
    if (existing !== path && !(await stat(existing)).isDirectory()) throw new Error('not a directory');
    return [];
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'not a directory';
    return [
      findingOf(
        new Failure('STORAGE_FAILED', `The ${what} ${path} could not be written: ${existing} (${reason})`, {
          facts: { path, existing, reason },
          hint: `Give this user the right to write there, or choose another path for the ${what}.`,
          cause,
        }),
      ),
    ];
  }
}

async function nearestExisting(path: string): Promise<string> {
  try {
    await access(path, constants.F_OK);
    return path;
  } catch {
    const above = dirname(path);
    return above === path ? path : nearestExisting(above);
  }
}

async function warehouseFindings(path: string): Promise<Finding[]> {
  try {
    await stat(path);
  } catch {
    return [note(`The warehouse ${path} did not exist yet; the first sync makes it.`)];
  }
  try {
    await withWarehouse(path, { mode: 'read', lockWaitMs: NO_WAIT_MS, emit: () => {} }, async () => {});
    return [];
  } catch (thrown) {
    const failure = asFailure(thrown);
    if (failure.code !== 'WAREHOUSE_LOCKED') return [findingOf(failure)];
    return [{ ...note(`${failure.message} Its version was not checked.`), severity: 'warning' }];
  }
}

function note(message: string): Finding {
  return { severity: 'note', code: null, slice: null, message, hint: null };
}
