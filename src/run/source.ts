/** A run's source of answers: the service, or the archive of its earlier answers. */

import type { Batch } from '../extract/extract.ts';
import type { Loading } from '../load/load.ts';
import type { Outcome } from '../load/answered.ts';
import { ReadPages } from '../load/read-pages.ts';
import type { Target } from '../warehouse/tables/target.ts';
import type { Catalog } from '../model/catalog.ts';
import type { Slice } from '../model/slice.ts';
import type { Window } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import type { ServiceStatistics } from '../service/service.ts';
import { openColumnReader } from '../extract/columns/column-reader.ts';
import { type Answer, openSpool, type PendingWindow, type Spooled } from '../extract/spool.ts';
import type { Run } from './run.ts';

/** By slice. Replaced as columns widen. */
export type Targets = Map<string, Target>;

export interface AnswerBatch extends Batch {
  /** The instant that counts as the fetch (default: when each answer was requested). */
  readonly fetchedAt: Date | null;
}

export interface Source {
  readonly canRequest: boolean;
  /**
   * Returns the catalog that types values and the slices with answers. Throws without a catalog. Begins what `finish` waits
   * for.
   */
  begin(): Promise<{ readonly catalog: Catalog; readonly slices: readonly Slice[] }>;
  /** Returns the newest catalog, the same object if it says the same of the slices. */
  catalog(): Promise<Catalog>;
  plan(targets: readonly Target[]): Promise<readonly SlicePlan[]>;
  /**
   * Takes windows off the queue until it is empty. Before each next request, calls `onAnswer`, which may change the queue,
   * with every new answer and its bytes. Throws if nothing more may be loaded.
   */
  answers(
    queue: PendingWindow[],
    targets: Targets,
    signal: AbortSignal,
    onAnswer: (window: Window, bytes: number) => void,
  ): AsyncIterable<AnswerBatch>;
  readonly read: Loading['read'];
  archive(batch: readonly Spooled[], outcomes: readonly Outcome[]): Promise<void>;
  discard(answers: readonly Answer[]): Promise<void>;
  /** Waits for what is requested beside the windows, and does what remains. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

export interface SourceFactory {
  statistics(): ServiceStatistics;
  /** Now by this machine's clock if the service's answers agree with it. */
  confirmedNow(): Date | null;
  open(run: Run): Source;
}

export function openColumns({ warehouse }: Pick<Run, 'warehouse'>) {
  const spool = openSpool(warehouse.path);
  const reader = openColumnReader();
  const pages = new ReadPages(reader, spool.root);
  const close = async (): Promise<void> => {
    await reader.close();
    spool.clear();
  };
  return { spool, pages, close };
}
