/** The places on disk a run would write to, looked at without writing, so that what is wrong is known before anything is asked. */

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { Config } from './config/config.ts';
import { Failure } from './errors.ts';

type Destinations = Pick<Config, 'warehouse' | 'publish'>;

interface Place {
  readonly what: 'warehouse' | 'duckdb' | 'parquet';
  readonly path: string;
  /** Where its files are made; need not exist yet. */
  readonly directory: string;
}

/** A `STORAGE_FAILED` for the warehouse and for each copy on disk that could not be written; empty when all could. */
export async function unwritablePlaces({ warehouse, publish }: Destinations): Promise<Failure[]> {
  const copies = publish.filter(({ path }) => !path.includes('://'));
  const places: readonly Place[] = [
    { what: 'warehouse', path: warehouse, directory: dirname(warehouse) },
    ...copies.map(({ kind, path }) => ({ what: kind, path, directory: kind === 'parquet' ? path : dirname(path) })),
  ];
  return (await Promise.all(places.map(failuresAt))).flat();
}

/** Throws one `STORAGE_FAILED` that names every place that could not be written. */
export async function refuseUnwritablePlaces(destinations: Destinations): Promise<void> {
  const failures = await unwritablePlaces(destinations);
  const [first] = failures;
  if (first === undefined) return;
  if (failures.length === 1) throw first;
  throw new Failure('STORAGE_FAILED', failures.map(({ message }) => message).join('; '), {
    facts: { places: failures.length },
    hint: 'Give this user the right to write there, or choose other paths.',
    cause: first,
  });
}

async function failuresAt({ what, path, directory }: Place): Promise<Failure[]> {
  const existing = await nearestExisting(directory);
  const reason =
    (await obstacleInDirectory(existing)) ?? (what === 'parquet' ? null : await obstacleInFile(path, what));
  if (reason === null) return [];
  return [
    new Failure('STORAGE_FAILED', `The ${what} ${path} could not be written: ${existing} (${reason})`, {
      facts: { path, existing, reason },
      hint: `Give this user the right to write there, or choose another path for the ${what}.`,
    }),
  ];
}

/** The path itself, or the nearest above it that exists. */
async function nearestExisting(path: string): Promise<string> {
  try {
    await access(path, constants.F_OK);
    return path;
  } catch {
    const above = dirname(path);
    return above === path ? path : nearestExisting(above);
  }
}

async function obstacleInDirectory(path: string): Promise<string | null> {
  try {
    if (!(await stat(path)).isDirectory()) return 'not a directory';
    await access(path, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return codeOf(error);
  }
}

/** Of a file that is there: another is renamed over a snapshot, so its own rights do not matter. */
async function obstacleInFile(path: string, what: 'warehouse' | 'duckdb'): Promise<string | null> {
  try {
    if ((await stat(path)).isDirectory()) return 'a directory in the place of the file';
    if (what === 'warehouse') await access(path, constants.W_OK);
    return null;
  } catch (error) {
    const code = codeOf(error);
    return code === 'ENOENT' ? null : code;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
