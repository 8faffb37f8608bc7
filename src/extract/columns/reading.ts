/** The requests and results of readings, as they pass between the column reader and its thread. */

import type { ColumnType } from '../../model/column-type.ts';
import type { SavedBody } from '../../service/service.ts';
import type { Members } from '../envelope.ts';

/** The column with the number of a row's body, from 0. No slice has a column of this name. */
export const BODY = 'body,';

/** The column of keys that were not requested, as one JSON object. */
export const EXTRA = '_extra';

/** The column of rows that their columns do not hold, with reasons, as JSON. No slice has such a column. */
export const REJECTED = 'rejected,';

/** Why a metric does not accept the value in a row. */
export interface Reason {
  readonly metric: string;
  readonly reason: string;
}

export const ATTR_DEPENDENCY = 'attr_dependency';

/** The columns of a slice, in table order. `attr_dependency` follows them as JSON text. */
export interface SliceColumns {
  readonly dimensions: readonly string[];
  readonly metrics: readonly { readonly id: string; readonly type: ColumnType }[];
  /** Requested keys that no longer have a column, so that their values are left out. */
  readonly dropped?: readonly string[];
}

/** What a body states as a whole. */
export interface BodyHead {
  readonly rows: number;
  /** A digest of its first rows. */
  readonly rowsDigest: string;
  readonly members: Members;
  /** Why the body is not one complete report, so that its rows are meaningless. */
  readonly because: string | null;
}

/** What was found in one body. */
export interface BodyRead extends BodyHead {
  /** Keys that occur in some row. */
  readonly keys: readonly string[];
  /** Keys that occur in every row. */
  readonly commonKeys: readonly string[];
  /** A label that is not a date of the documented form. */
  readonly badLabel: { readonly dimension: string; readonly label: string } | null;
  /** By metric with a fraction: the most digits after the point of its numbers, without trailing zeros. */
  readonly digits: ReadonlyMap<string, number>;
}

/** The rows of one or more bodies, in one file. */
export interface ColumnsRead {
  /** One per body, in their order. */
  readonly bodies: readonly BodyRead[];
  /**
   * By metric whose column does not hold all its numbers: the narrowest exact type that does. The column's cells are
   * meaningless, and the answer must be read again. A number that no such type holds is rejected.
   */
  readonly unfit: ReadonlyMap<string, ColumnType>;
  /** Whether some rows hold keys that were not requested. */
  readonly hasExtra: boolean;
  readonly hasRejected: boolean;
  /** Whether the rows are in the order of their finest dates, if they have any. */
  readonly isOrdered: boolean;
  /** Whether all rows are known to differ in their dimensions and `attr_dependency`. */
  readonly isDistinct: boolean;
}

export interface ReadRequest {
  readonly columns: SliceColumns;
  /** The bodies of one or more answers. */
  readonly bodies: readonly SavedBytes[];
  /** Path of the Parquet file, which must not exist: DuckDB remembers files by their names. */
  readonly to: string;
  /** Texts that no row may contain. */
  readonly secrets?: readonly string[];
}

export type SavedBytes = Pick<SavedBody, 'path' | 'encoding' | 'plainBytes'>;

/** What the thread has read, or an error, with its system call if the file system failed. */
export type Reply =
  | { readonly result: ColumnsRead }
  | { readonly result: null; readonly message: string; readonly syscall: string | null };
