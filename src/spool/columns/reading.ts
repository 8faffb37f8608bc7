/** What is asked of a reading and what comes of it: the words between the door and its thread. */

import type { ColumnType } from '../../model/column-type.ts';
import type { DateDimension } from '../../model/dimension.ts';

/** The column that says of which body a row is, by its number from 0; no slice has one of such a name. */
export const BODY = 'body,';

/** The columns of a slice, in table order; `attr_dependency` follows them as JSON text. */
export interface SliceColumns {
  readonly dimensions: readonly { readonly name: string; readonly kind: 'text' | DateDimension }[];
  readonly metrics: readonly MetricCells[];
}

interface MetricCells {
  readonly name: string;
  readonly type: ColumnType;
  /** Whether a column of doubles takes only numbers that a double says to the last digit; left out, it takes the nearest ones. */
  readonly isExact?: boolean;
}

export type Encoding = 'gzip' | 'identity';

/** What stood beside the rows of one body: JSON texts untouched, null where a member was missing. */
export interface Envelope {
  readonly rows: number;
  /** By member, for those that say something about the answer. */
  readonly members: ReadonlyMap<string, string>;
}

/** Rows that were all taken, and every cell of them exactly. */
export interface ColumnsRead {
  readonly rows: number;
  /** One per body, in their order. */
  readonly envelopes: readonly Envelope[];
  /** Whether the rows came in the order of their finest dates; so do rows without any. */
  readonly isOrdered: boolean;
  /** Whether no two rows have the same dimensions and `attr_dependency`; false too where that was not found out. */
  readonly isDistinct: boolean;
  /** The weekday, 0 for Sunday, that all week labels of seven days begin with; null when they differ or there are none. */
  readonly weekStartsOn: number | null;
}

/** The answer holds something that is not taken; another reader has to judge it. No file is left. */
export interface GaveUp {
  readonly gaveUp: string;
}

export interface ReadRequest {
  readonly columns: SliceColumns;
  /** The bodies of one answer. */
  readonly bodies: readonly SavedBytes[];
  /** Path of the Parquet file, which must not exist: DuckDB remembers files by their names. */
  readonly to: string;
}

/** What the door sends; `job` tells readings apart. */
export interface Order extends ReadRequest {
  readonly job: number;
}

export interface SavedBytes {
  readonly path: string;
  readonly encoding: Encoding;
  /** After decompression. */
  readonly plainBytes: number;
}

/** What the thread answers. */
export type Reply =
  | { readonly kind: 'done'; readonly job: number; readonly result: ColumnsRead | GaveUp }
  /** `syscall` is set for errors of the file system. */
  | { readonly kind: 'failed'; readonly job: number; readonly message: string; readonly syscall: string | null };
