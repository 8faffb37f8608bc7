/** What is known of a window on its way, and what becomes of it. */

import type { Failure } from '../errors.ts';
import type { WeekStart } from '../model/calendar.ts';
import type { Window } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';
import type { Answer } from './answers.ts';

/** What became of a window. */
export type LoadResult =
  | {
      readonly kind: 'loaded';
      readonly window: Window;
      readonly rows: number;
      readonly fetched: number;
      readonly rejected: number;
      readonly restatedPeriods: number;
      readonly warnings: readonly LoadWarning[];
    }
  /** Nothing was changed, and asking again would not help. */
  | { readonly kind: 'failed'; readonly window: Window; readonly failure: Failure }
  /** The answer was unusable; another one may not be. */
  | { readonly kind: 'ask again'; readonly window: Window; readonly failure: Failure }
  /** The answer was not shown to be complete; smaller ones may be. */
  | { readonly kind: 'split'; readonly window: Window; readonly failure: Failure; readonly partNo: number }
  /** The service begins its weeks with another day than was assumed. */
  | { readonly kind: 'week start'; readonly window: Window; readonly weekStartsOn: WeekStart };

export interface LoadWarning {
  readonly code: string;
  readonly message: string;
}

/** Answers that may be loaded, before their rows were looked at. */
export interface SoundAnswers {
  readonly answers: readonly Answer[];
  readonly warnings: readonly LoadWarning[];
  /** Keys that came unasked. */
  readonly extra: readonly string[];
  /** The part with the most rows. */
  readonly heaviest: number;
}

/** A window whose answers are sound. */
export interface Sound extends SoundAnswers {
  readonly spooled: Spooled;
  readonly windowNo: number;
}
