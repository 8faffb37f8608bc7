/** What becomes of a window: one outcome for each run of neighbouring periods with one fate. */

import type { Failure } from '../errors.ts';
import type { Day } from '../model/calendar.ts';
import type { CompletenessVerdict, PeriodRecord } from '../model/ledger.ts';
import type { KnownValues, Window } from '../model/window.ts';
import type { Round, Spooled } from '../extract/spool.ts';
import type { LoadWarning } from './answer-pages.ts';
import type { Answered, Rejects } from './answered.ts';
import type { Comparison } from './proof.ts';

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
}

export interface Failed {
  readonly kind: 'failed';
  readonly window: Window;
  readonly failure: Failure;
}

export interface Again {
  readonly kind: 'again';
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

export interface Proven {
  readonly verdict: CompletenessVerdict;
  readonly comparisons: readonly Comparison[];
  /** Metrics only assumed to add up that do not, and that do. */
  readonly notAdditive: readonly string[];
  readonly addsUp: readonly string[];
  readonly warnings: readonly LoadWarning[];
}

/** Without a date dimension its days may differ from those requested now. */
export interface StoredPeriod extends Omit<PeriodRecord, 'metrics' | 'requestedAt'> {
  /** Whether it is final and has values of a lost app, which cannot be told from the others. */
  readonly isProtected?: boolean;
  /** Of a cube, each of its ages; otherwise one. */
  readonly records: readonly Omit<PeriodRecord, 'metrics' | 'requestedAt'>[];
}

/** By first day of a period that was read, its totals by metric; empty if the service states none. */
export type NightTotals = ReadonlyMap<Day, ReadonlyMap<string, number>>;

export interface Policy {
  readonly acceptLoss: boolean;
  readonly stored: ReadonlyMap<Day, StoredPeriod>;
  readonly totals: NightTotals;
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
