/** Answers on disk, in one private directory of the holder of the run lock. Their names are slice, dates and a counter. */

import { mkdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { type Failure, storageFailed, systemText } from '../errors.ts';
import { type Box, labelOf, type Window } from '../model/window.ts';
import type { SavedReport } from '../service/service.ts';

export interface Answer extends SavedReport {
  readonly box: Box;
  readonly requestedAt: Date;
  readonly receivedAt: Date;
}

export interface Round {
  readonly rows: number;
  /** How far sums differed from totals, by metric. */
  readonly differences: ReadonlyMap<string, number>;
  /** Whether an earlier division returned more rows. */
  readonly hasGrown: boolean;
  /** The parts (`partId`) that the division made. */
  readonly halves: readonly string[];
}

/** Most repeated requests for doubted answers of a window. */
export const MAX_DOUBTS = 2;

export interface PendingWindow {
  readonly window: Window;
  readonly doubts: number;
  /** Whether the answer before had too few rows of a settled period. */
  readonly isConfirmation: boolean;
  /** Before its latest division, if it fell short. */
  readonly round: Round | null;
  /** Dividing the request would not help. `completeness: warn` then loads the rows received. */
  readonly isIndivisible?: boolean;
  /** The ones that it has. In the order of the boxes once it has all. */
  readonly answers: readonly Answer[];
}

export interface Spooled extends PendingWindow {
  /** Why the totals of a divided window are not known. */
  readonly controlFailure: Failure | null;
}

/** Returns the instant of the first request, by which finality is judged. */
export const requestedAtOf = (answers: readonly Answer[]): Date =>
  new Date(Math.min(...answers.map(({ requestedAt }) => requestedAt.getTime())));

export const receivedAtOf = (answers: readonly Answer[]): Date =>
  new Date(Math.max(...answers.map(({ receivedAt }) => receivedAt.getTime())));

/** Its promises reject with `STORAGE_FAILED`. */
export interface Spool {
  readonly root: string;
  pathFor(window: Window): string;
  discard(answers: readonly Pick<Answer, 'pages'>[]): Promise<void>;
  clear(): void;
}

/** Opens an empty spool: what is there was never loaded. Throws `STORAGE_FAILED`. */
export function openSpool(warehousePath: string): Spool {
  const root = `${warehousePath}.spool`;
  const removeAll = () => rmSync(root, { recursive: true, force: true });
  try {
    removeAll();
    mkdirSync(root, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw storageFailed(`The spool ${root} could not be made`, error, {
      hint: 'Check permissions and free space of the warehouse directory.',
    });
  }
  let made = 0;
  return {
    root,
    pathFor(window) {
      made += 1;
      return join(root, `${window.slice.name}.${labelOf(window).replace(':', '_')}.${made}`);
    },
    async discard(answers) {
      const paths = answers.flatMap(({ pages }) => pages.map(({ path }) => path));
      await Promise.all(paths.map(removeSpooled));
    },
    clear() {
      try {
        removeAll();
      } catch {
        // Would hide the error that ended the run.
      }
    },
  };
}

export const removeSpooled = async (path: string): Promise<void> =>
  onDisk('spool', path, async () => rm(path, { force: true }));

export async function onDisk<T>(
  place: 'archive' | 'spool',
  path: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (systemText(error, 'syscall') === '') throw error;
    throw storageFailed(`The ${place} at ${path} could not be used`, error, {
      facts: { path },
      hint: `Check free space and permissions of the ${place} beside the warehouse.`,
    });
  }
}

/** After decompression. */
export const plainBytesOf = (answers: readonly Pick<Answer, 'pages'>[]): number =>
  answers.flatMap(({ pages }) => pages).reduce((sum, { plainBytes }) => sum + plainBytes, 0);
