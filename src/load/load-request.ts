/** What a load is asked for, and what comes of it. */

import type { Warehouse } from '../warehouse/warehouse.ts';
import type { ColumnAnswers } from './column-answers.ts';
import type { LoadResult } from './load-result.ts';
import type { Target } from './target.ts';

export interface LoadRequest {
  readonly warehouse: Warehouse;
  readonly target: Target;
  readonly runId: string;
  /** Stands for the fetch instant in every finality decision; null: the instant each window was asked for. */
  readonly fetchedAt: Date | null;
  /** Replaces settled periods also when most of their rows are gone. */
  readonly acceptLoss: boolean;
  /** Answers in the usual form, read already; null leaves all of them to SQL, which stores the same. */
  readonly columns: Pick<ColumnAnswers, 'of'> | null;
}

export interface Loaded {
  /** One per window, or several where its periods met different fates. */
  readonly results: readonly LoadResult[];
  /** With the columns as wide, and the metrics as additive, as the answers have shown them. */
  readonly target: Target;
}
