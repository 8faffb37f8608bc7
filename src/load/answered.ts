/** Answered windows: what decides the fate of each. */

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

export interface Readable {
  readonly spooled: Spooled;
  readonly windowNo: number;
  readonly fetchedAt: Date;
  readonly answers: readonly ReadableAnswer[];
  readonly controls: readonly ReadableAnswer[];
  readonly maturity: WindowMaturity;
}

/** As text; null if no row has a value. */
export interface PeriodSum {
  readonly sum: string | null;
  /** The same with identical rows counted once. */
  readonly distinctSum: string | null;
}

export interface MetricSum extends PeriodSum {
  readonly metric: string;
  /** Sum of the absolute values. */
  readonly magnitude: number;
  readonly nonZero: number;
  /** By page; the most digits after the point in its values. */
  readonly precision: readonly { readonly rows: number; readonly digits: number }[];
  readonly isCount: boolean;
  /** Even if earlier answers showed that it adds up. */
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
  /** Whatever the totals. */
  readonly failure: Failure | null;
  /** First days of the periods of keys with several values. */
  readonly conflicts: readonly Day[];
  readonly rejects: Rejects | null;
  /** Surplus copies of identical rows, by batch of metrics. */
  readonly copies: readonly number[];
  /** Rows that can be stored, by first day of the period. Never zero. */
  readonly periodRows: ReadonlyMap<Day, number>;
  /** The same with identical rows counted once; in a cube, the values other than zero. */
  readonly periodValues: ReadonlyMap<Day, number>;
  /** Sums of the metric that all batches share, over their joined rows, by first day of the period. */
  readonly sharedSums: ReadonlyMap<Day, number>;
}

export const isBatched = ({ answers }: Pick<Readable, 'answers'>): boolean =>
  answers.some(({ box }) => box.batchNo > 0);

export function sharedMetric({ answers }: Pick<Readable, 'answers'>): string | undefined {
  const [first] = answers;
  return first?.box.metrics.find((id) =>
    answers.every(({ box }) => box.batchNo === first.box.batchNo || box.metrics.includes(id)),
  );
}

export const pagesOf = ({ answers }: Pick<Readable, 'answers'>): StagedPage[] =>
  answers.flatMap(({ pages }) => pages.filter(({ body }) => body.rows > 0));

export interface Reject {
  readonly slice: string;
  readonly days: DayInterval;
  readonly reason: string;
  readonly row: string;
}

/** Rows with values that no column can hold. */
export interface Rejects {
  readonly recorded: readonly Reject[];
  /** The day of each row, if known. */
  readonly days: readonly (Day | null)[];
  readonly metrics: ReadonlySet<string>;
  readonly failure: Failure | null;
}
