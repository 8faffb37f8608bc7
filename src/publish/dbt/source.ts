/** What dbt is told of a copy: which tables and columns it has, when it is fresh, what always holds. */

import type { LakeColumn } from '../lake-table.ts';

/** A check of a column, or of an expression over the columns of a table. */
export type Rule =
  | { readonly kind: 'not_null'; readonly column: string }
  | { readonly kind: 'unique'; readonly column: string }
  | { readonly kind: 'unique_row'; readonly columns: readonly string[] }
  | { readonly kind: 'accepted_values'; readonly column: string; readonly values: readonly string[] }
  | {
      readonly kind: 'relationships';
      readonly column: string;
      /** Where every value is found again. */
      readonly source: string;
      readonly table: string;
      readonly field: string;
    };

export interface Freshness {
  /** A query whose one value is the instant, in UTC, that age is counted from. */
  readonly query: string;
  readonly warnAfterHours: number;
  readonly errorAfterHours: number;
}

export interface DbtTable {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly LakeColumn[];
  readonly rules: readonly Rule[];
  readonly freshness: Freshness | null;
}

export interface DbtSource {
  readonly name: string;
  readonly comment: string;
  readonly schema: string;
  readonly tables: readonly DbtTable[];
}

/** A copy that dbt attaches as a database. */
export interface DbtCopy {
  /** The DuckDB file: the snapshot, or the catalog beside Delta tables. */
  readonly path: string;
  /** The name it is attached under. */
  readonly database: string;
  readonly sources: readonly DbtSource[];
}
