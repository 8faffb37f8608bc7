/** Answered windows: their staged rows, and the facts on them that decide what becomes of each window. */

import type { Failure } from '../errors.ts';
import type { Day, DayInterval } from '../model/calendar.ts';
import type { Box } from '../model/window.ts';
import type { Spooled } from '../extract/spool.ts';
import type { AnswerPages, WindowMaturity } from './answer-pages.ts';
import type { PageRead } from './read-pages.ts';

export interface StagedPage extends PageRead {
  /** Of the window in its batch, and of the answer in its window. */
  readonly windowNo: number;
  readonly answerNo: number;
}

export interface ReadableAnswer extends AnswerPages {
  readonly box: Box;
  readonly unfollowed: string | null;
  readonly pages: readonly StagedPage[];
}

/** A window whose rows can be staged. */
export interface Readable {
  readonly spooled: Spooled;
  readonly windowNo: number;
  readonly fetchedAt: Date;
  readonly answers: readonly ReadableAnswer[];
  /** The answers to control boxes. */
  readonly controls: readonly ReadableAnswer[];
  readonly maturity: WindowMaturity;
}

/** Exact, as text; null if no row has a value. */
export interface PeriodSum {
  readonly sum: string | null;
  /** The same with identical rows counted once. */
  readonly distinctSum: string | null;
}

/** The sums of one metric over the rows of one answer. */
export interface MetricSum extends PeriodSum {
  readonly metric: string;
  /** Sum of the absolute values; bounds the rounding error. */
  readonly magnitude: number;
  /** Values other than zero. */
  readonly nonZero: number;
  /** By page: its rows, and the most digits after the point in their values. */
  readonly precision: readonly { readonly rows: number; readonly digits: number }[];
  /** Whether the metric is a count, even in a widened column: counts must agree exactly. */
  readonly isCount: boolean;
  /** Whether the metric is only assumed to add up, even if earlier answers showed it. */
  readonly isAssumed: boolean;
}

export interface AnswerFacts extends ReadableAnswer {
  /** Of its additive metrics without rejected values. */
  readonly sums: readonly MetricSum[];
  /** By first day of the period, and additive metric. */
  readonly periodSums: ReadonlyMap<Day, ReadonlyMap<string, PeriodSum>>;
  /** Of a control answer: the values of its second dimension that the rows lack, by period. */
  readonly lost: readonly { readonly start: Day; readonly value: string | null }[];
}

export interface Answered extends Readable {
  readonly answers: readonly AnswerFacts[];
  readonly controls: readonly AnswerFacts[];
  /** Why its rows cannot be loaded, whatever their totals. */
  readonly failure: Failure | null;
  /** First days of the periods of keys with several values. */
  readonly conflicts: readonly Day[];
  readonly rejects: Rejects | null;
  /** Surplus copies of identical rows, by batch of metrics. */
  readonly copies: readonly number[];
  /** Rows that can be stored, by first day of the period; a period without any is left out. */
  readonly periodRows: ReadonlyMap<Day, number>;
  /** The same with identical rows counted once; in a cube, the values other than zero. */
  readonly periodValues: ReadonlyMap<Day, number>;
  /** Sums of the metric that all batches share, over their joined rows, by first day of the period. */
  readonly sharedSums: ReadonlyMap<Day, number>;
}

export const isBatched = ({ answers }: Pick<Readable, 'answers'>): boolean =>
  answers.some(({ box }) => box.batchNo > 0);

/** Returns the metric that the requests for all batches of metrics have in common. */
export function sharedMetric({ answers }: Pick<Readable, 'answers'>): string | undefined {
  const [first] = answers;
  return first?.box.metrics.find((id) =>
    answers.every(({ box }) => box.batchNo === first.box.batchNo || box.metrics.includes(id)),
  );
}

export const pagesOf = ({ answers }: Pick<Readable, 'answers'>): StagedPage[] =>
  answers.flatMap(({ pages }) => pages.filter(({ body }) => body.rows > 0));

/** One reason why a row cannot be stored exactly. */
export interface Reject {
  readonly slice: string;
  readonly days: DayInterval;
  readonly reason: string;
  /** The row as JSON. */
  readonly row: string;
}

/** The rows of a window with values that no column can hold, each with its day, if known. */
export interface Rejects {
  readonly recorded: readonly Reject[];
  readonly days: readonly (Day | null)[];
  /** Metrics with a value that could not be stored. */
  readonly metrics: ReadonlySet<string>;
  /** Set if the window has more of them than its slice tolerates; else null. */
  readonly failure: Failure | null;
}
