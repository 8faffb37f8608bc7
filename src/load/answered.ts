/** Answered windows, and what becomes of each: one outcome for each run of neighbouring periods with one fate. */

import type { Failure } from '../errors.ts';
import type { Day, DayInterval } from '../model/calendar.ts';
import type { CompletenessVerdict, PeriodRecord } from '../model/ledger.ts';
import type { Box, KnownValues, Window } from '../model/window.ts';
import type { Round, Spooled } from '../extract/spool.ts';
import type { AnswerPages, LoadWarning, WindowMaturity } from './answer-pages.ts';
import type { PageRead } from './read-pages.ts';

export interface StagedPage extends PageRead {
  /** Of the window in its batch, of the answer in its window, and of the page in its answer. */
  readonly windowNo: number;
  readonly answerNo: number;
  readonly pageNo: number;
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
  /** The batches that have copies on different pages. */
  readonly spread: ReadonlySet<number>;
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

export type Outcome = Loaded | Failed | Again | Split;

export interface Loaded {
  readonly kind: 'loaded';
  readonly window: Window;
  readonly rows: number;
  readonly fetched: number;
  readonly rejected: number;
  /** First days of the periods in which a total changed. */
  readonly restated: readonly string[];
  readonly empty: readonly string[];
  readonly warnings: readonly LoadWarning[];
  readonly isUnserved: boolean;
  /** The lost apps, by name or token, whose rows were kept in its periods. */
  readonly kept?: readonly { readonly app: string; readonly start: Day }[];
}

export interface Failed {
  readonly kind: 'failed';
  readonly window: Window;
  readonly failure: Failure;
}

export interface Again {
  readonly kind: 'again';
  /** As it is to be requested, perhaps undivided. */
  readonly window: Window;
  readonly spooled: Spooled;
  readonly failure: Failure;
  /** The boxes (`boxId`) of `window` to request again; null: all. */
  readonly boxes: ReadonlySet<string> | null;
  /** Whether the new answers confirm or refute a loss of stored rows. */
  readonly isConfirmation: boolean;
}

export interface Split {
  readonly kind: 'split';
  readonly window: Window;
  readonly spooled: Spooled;
  readonly failure: Failure;
  /** To divide, by `partId`. */
  readonly parts: ReadonlySet<string>;
  /** Null if they are only too large. */
  readonly shortfall: Shortfall | null;
  /** The values in the answers, by dimension. */
  readonly values: KnownValues;
}

export interface Shortfall {
  /** By `partId`. */
  readonly rows: ReadonlyMap<string, number>;
  readonly differences: Round['differences'];
  /** Whether a part was cut by a limit, or by the service's own account. */
  readonly isCut: boolean;
  /** Whether all disagreeing metrics are only assumed to add up. */
  readonly isAssumed: boolean;
}

export interface Comparison {
  readonly metric: string;
  readonly sum: string;
  readonly total: string;
  readonly agrees: boolean;
  /** Whether only if identical rows count as often as they came. */
  readonly countsCopies: boolean;
  /** To the digits of the total, and to the cent: no rows can be missing. */
  readonly isExact: boolean;
  readonly isAssumed: boolean;
  readonly nonZero: number;
}

export interface Proven {
  readonly verdict: CompletenessVerdict;
  readonly comparisons: readonly Comparison[];
  /** Metrics only assumed to add up that do not, and that do. */
  readonly notAdditive: readonly string[];
  readonly addsUp: readonly string[];
  /** Metrics whose rows do not add up to what the night states, by first day of a settled period. */
  readonly differing: ReadonlyMap<Day, readonly string[]>;
  readonly warnings: readonly LoadWarning[];
}

/** Without a date dimension its days may differ from those requested now. */
export interface StoredPeriod extends Omit<PeriodRecord, 'metrics' | 'requestedAt'> {
  /** Whether it was final when an app was lost whose rows cannot be told from the others. */
  readonly isKept?: boolean;
  /** Of a cube, each of its ages; otherwise one. */
  readonly records: readonly Omit<PeriodRecord, 'metrics' | 'requestedAt'>[];
}

/** By first day of a period that was read, its totals by metric; empty if the service states none. */
export type NightTotals = ReadonlyMap<Day, ReadonlyMap<string, number>>;

export interface Policy {
  /** Whether settled periods may lose most of their rows. */
  readonly acceptLoss: boolean;
  readonly stored: ReadonlyMap<Day, StoredPeriod>;
  /** Empty for a slice whose rows were found to differ. */
  readonly totals: NightTotals;
  readonly stated: NightTotals;
}

export interface Replacement extends Proven, Policy {
  readonly kind: 'replace';
  readonly answered: Answered;
  readonly window: Window;
  readonly rejects: Pick<Rejects, 'recorded' | 'days'>;
  /** Stretches of periods without rows. */
  readonly empty: readonly string[];
  /** Whether stored rows are kept, as the service no longer has any, and an added metric stays NULL. */
  readonly isUnserved: boolean;
}

export interface Load extends Replacement {
  readonly loadId: string;
}
