/** What a load is given, and what becomes of each window. */

import type { Failure, WarningCode } from '../errors.ts';
import type { WeekStart } from '../model/calendar.ts';
import type { KnownValue, Window } from '../model/window.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { ReadAnswers } from './read-answers.ts';
import type { Target } from '../tables/target.ts';

/** What became of a window, or of some neighbouring periods of one. */
export type LoadResult =
  | {
      readonly kind: 'loaded';
      readonly window: Window;
      readonly rows: number;
      readonly fetched: number;
      readonly rejected: number;
      readonly restatedPeriods: number;
      /** Stretches of periods without rows, `first:last`. */
      readonly empty: readonly string[];
      readonly warnings: readonly LoadWarning[];
    }
  /** Nothing was changed, and asking again would not help. */
  | { readonly kind: 'failed'; readonly window: Window; readonly failure: Failure }
  /** The answer was unusable or is doubted; another one may not be. */
  | { readonly kind: 'request again'; readonly window: Window; readonly failure: Failure }
  /** Some parts of it were not shown to be complete, or are too large; smaller ones may be. */
  | SplitResult
  /** The service begins its weeks with another day than was assumed. */
  | { readonly kind: 'week start'; readonly window: Window; readonly weekStartsOn: WeekStart };

export interface SplitResult {
  readonly kind: 'split';
  readonly window: Window;
  readonly failure: Failure;
  /** The parts (`partId`) to divide. */
  readonly parts: ReadonlySet<string>;
  /** Null where they are too large to be loaded. */
  readonly shortfall: Shortfall | null;
  /** What the answer brought, by dimension: a hint where to divide. */
  readonly values: ReadonlyMap<string, readonly KnownValue[]>;
}

/** How the rows of a window fell short of what the service stated, so that splitting it can be seen to help. */
export interface Shortfall {
  /** By part (`partId`), of every one. */
  readonly rows: ReadonlyMap<string, number>;
  /** How far the sums of each disagreeing metric lay from its totals. */
  readonly differences: ReadonlyMap<string, number>;
  /** Whether a part was cut by a limit or in the service's own words: only smaller questions can help. */
  readonly isCut: boolean;
  /** Whether only metrics disagree of which it is assumed, from their names, that they add up. */
  readonly isAssumed: boolean;
}

export interface LoadWarning {
  readonly code: WarningCode;
  readonly message: string;
}

export interface LoadRequest {
  readonly warehouse: Warehouse;
  readonly target: Target;
  readonly runId: string;
  /** Stands for the fetch instant in every finality decision; null: the instant each window was requested. */
  readonly fetchedAt: Date | null;
  /** Replaces settled periods also if they lose most of their rows. */
  readonly acceptLoss: boolean;
  readonly read: Pick<ReadAnswers, 'readAll' | 'of'>;
}

export interface Loaded {
  /** One per window, or several where its periods met different fates. */
  readonly results: readonly LoadResult[];
  /** With the columns as wide, and the metrics as additive, as the answers have shown them. */
  readonly target: Target;
}
