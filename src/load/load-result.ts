/** The input of a load, and the results for its windows. */

import type { Failure, WarningCode } from '../errors.ts';
import type { WeekStart } from '../model/calendar.ts';
import type { KnownValue, Window } from '../model/window.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { ReadAnswers } from './read-answers.ts';
import type { Target } from '../tables/target.ts';

/** The result for a window, or for some neighbouring periods of it. */
export type LoadResult =
  | {
      readonly kind: 'loaded';
      readonly window: Window;
      readonly rows: number;
      readonly fetched: number;
      readonly rejected: number;
      /** The start of each period in which a total changed. */
      readonly restated: readonly string[];
      /** Stretches of periods without rows, `first:last`. */
      readonly empty: readonly string[];
      readonly warnings: readonly LoadWarning[];
    }
  /** Nothing was changed, and requesting again would not help. */
  | { readonly kind: 'failed'; readonly window: Window; readonly failure: Failure }
  /** The answer is unusable or doubted; another one may be accepted. */
  | { readonly kind: 'request again'; readonly window: Window; readonly failure: Failure }
  /** Some parts were not shown to be complete, or are too large; smaller ones may be loaded. */
  | SplitResult
  /** The service begins its weeks on another day than assumed. */
  | { readonly kind: 'week start'; readonly window: Window; readonly weekStartsOn: WeekStart };

export interface SplitResult {
  readonly kind: 'split';
  readonly window: Window;
  readonly failure: Failure;
  /** The parts (`partId`) to divide. */
  readonly parts: ReadonlySet<string>;
  /** Null if they are too large to be loaded. */
  readonly shortfall: Shortfall | null;
  /** The values in the answer, by dimension: a hint where to divide; empty if they were not read. */
  readonly values: ReadonlyMap<string, readonly KnownValue[]>;
}

/** How far the rows of a window fell short of what the service stated; shows whether splitting helps. */
export interface Shortfall {
  /** By part (`partId`), for every part. */
  readonly rows: ReadonlyMap<string, number>;
  /** By disagreeing metric, how far its sums differ from its totals. */
  readonly differences: ReadonlyMap<string, number>;
  /** Whether a part was cut by a limit, or by the service's own account: only smaller requests can help. */
  readonly isCut: boolean;
  /** Whether all disagreeing metrics are only assumed to add up. */
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
  /** The fetch instant for every finality decision; null for the instant each window was requested. */
  readonly fetchedAt: Date | null;
  /** Whether to replace settled periods even if they lose most of their rows. */
  readonly acceptLoss: boolean;
  readonly read: Pick<ReadAnswers, 'readAll' | 'of'>;
}

export interface Loaded {
  /** One per window; several if its periods have different fates; none for periods that a later fetch loaded. */
  readonly results: readonly LoadResult[];
  /** With columns as wide as the answers needed, and the additivity that they showed. */
  readonly target: Target;
}
