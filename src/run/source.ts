/** Where a run's answers come from: the service, or the archive of what it once answered. */

import type { PendingWindow, Batch } from '../extract/extract.ts';
import type { LoadRequest, LoadResult } from '../load/load-result.ts';
import { ReadAnswers } from '../load/read-answers.ts';
import type { Target } from '../tables/target.ts';
import type { Catalog } from '../model/catalog.ts';
import type { Slice } from '../model/slice.ts';
import type { Window } from '../model/window.ts';
import type { SlicePlan } from '../plan/plan.ts';
import type { ServiceStatistics } from '../service/service.ts';
import { openColumnReader } from '../spool/columns/column-reader.ts';
import { openSpool, type Spooled } from '../spool/spool.ts';
import type { Run } from './run.ts';

/** The tables that windows are loaded into, by slice; replaced as columns widen. */
export type Targets = Map<string, Target>;

/** A batch of answers, and the instant they count as fetched; null: when each was asked for. */
export interface AnswerBatch extends Batch {
  readonly fetchedAt: Date | null;
}

/** Answers to parts of windows. */
export type Answers = Spooled['answers'];

/** A source, open for one run. */
export interface Source {
  /** Whether it answers another question too; an archive gives what it has. */
  readonly canRequest: boolean;
  /** The catalog that values are typed by, and the slices it has something of; refreshes partners and links where it has them. Throws where no catalog is to be had. */
  begin(): Promise<{ readonly catalog: Catalog; readonly slices: readonly Slice[] }>;
  /** What is to be loaded into each table, by the ledger or by what the archive holds. */
  plan(targets: readonly Target[]): Promise<readonly SlicePlan[]>;
  /**
   * Takes windows off the queue until it is empty, and answers them in batches of one slice. `came` is called with each answer and its bytes
   * before the next window is requested, and may change the queue. Throws when nothing may be loaded any more.
   */
  answers(
    queue: PendingWindow[],
    targets: Targets,
    signal: AbortSignal,
    onAnswer: (window: Window, bytes: number) => void,
  ): AsyncIterable<AnswerBatch>;
  /** Answers that were read into columns already. */
  readonly read: LoadRequest['read'];
  /** Keeps what of a batch was loaded, where the source is to keep it. */
  keep(batch: readonly Spooled[], results: readonly LoadResult[]): Promise<void>;
  /** Removes answers that nobody needs any more. */
  discard(answers: Answers): Promise<void>;
  /** What is left to do when all is loaded. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** A source as a run is started with it. */
export interface SourceDoor {
  /** What was put on the wire so far. */
  statistics(): ServiceStatistics;
  /** Now by this machine's clock, where answers of the service agreed with it; null where they did not, or none told the time. */
  confirmedNow(): Date | null;
  open(run: Run): Source;
}

/**
 * Opens the spool of a run, and what reads its answers, or the archive's, into columns there. Emptied, also when nothing turns out to
 * be due: what a killed run left takes room.
 */
export function openColumns({ warehouse }: Pick<Run, 'warehouse'>) {
  const spool = openSpool(warehouse.path);
  const reader = openColumnReader();
  const answers = new ReadAnswers(reader, spool.root);
  const close = async (): Promise<void> => {
    await reader.close();
    spool.clear();
  };
  return { spool, answers, close };
}
