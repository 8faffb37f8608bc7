/** What is asked of a reading and what comes of it: the words between the door and its thread. */

import type { ColumnType } from '../../model/column-type.ts';
import type { SavedBody } from '../../service/service.ts';

/** The column that says of which body a row is, by its number from 0; no slice has one of such a name. */
export const BODY = 'body,';

/** Keys that were not requested, as one JSON object. */
export const EXTRA = '_extra';

/** A row that holds what its columns do not take, with the reasons, as JSON; NULL for any other. No slice has a column of such a name. */
export const REJECTED = 'rejected,';

/** Why a metric of a row does not take what stands there. */
export interface Reason {
  readonly metric: string;
  readonly reason: string;
}

export const ATTR_DEPENDENCY = 'attr_dependency';

/** The columns of a slice, in table order; `attr_dependency` follows them as JSON text. */
export interface SliceColumns {
  readonly dimensions: readonly string[];
  readonly metrics: readonly { readonly id: string; readonly type: ColumnType }[];
  /** Keys that were requested and have no column any more: their values are left out. */
  readonly left?: readonly string[];
}

/** What was found of one body. */
export interface Envelope {
  readonly rows: number;
  /** By name, the members that say something about the answer: JSON texts untouched. */
  readonly members: ReadonlyMap<string, string>;
  /** Keys that occur in some row, and in every row. */
  readonly keys: readonly string[];
  readonly commonKeys: readonly string[];
  /** A label that is no date of the documented form; null where all are. */
  readonly badLabel: { readonly dimension: string; readonly label: string } | null;
  /** Why it is not one whole report; its rows mean nothing then. Null for a sound one. */
  readonly because: string | null;
}

/** The rows of one or more bodies, in one file. */
export interface ColumnsRead {
  readonly rows: number;
  /** One per body, in their order. */
  readonly envelopes: readonly Envelope[];
  /**
   * By metric whose column does not hold all of its numbers, the narrowest exact type that does: their cells mean nothing, and the
   * answer is to be read again. A number that no such type holds is rejected.
   */
  readonly unfit: ReadonlyMap<string, ColumnType>;
  /** By metric, the most digits after the point of its numbers, without zeros at their end. */
  readonly digits: ReadonlyMap<string, number>;
  /** Whether some rows hold keys that were not requested, or what their columns do not take. */
  readonly hasExtra: boolean;
  readonly hasRejected: boolean;
  /** Whether the rows came in the order of their finest dates; so do rows without any. */
  readonly isOrdered: boolean;
  /** Whether no two rows have the same dimensions and `attr_dependency`; false too where that was not found out. */
  readonly isDistinct: boolean;
  /** The weekday, 0 for Sunday, that all week labels of seven days begin with; null when they differ or there are none. */
  readonly weekStartsOn: number | null;
}

export interface ReadRequest {
  readonly columns: SliceColumns;
  /** The bodies of one answer. */
  readonly bodies: readonly SavedBytes[];
  /** Path of the Parquet file, which must not exist: DuckDB remembers files by their names. */
  readonly to: string;
}

export type SavedBytes = Pick<SavedBody, 'path' | 'encoding' | 'plainBytes'>;

/** What the thread answers: what was read, or an error; `syscall` is set for errors of the file system. */
export type Reply =
  | { readonly kind: 'done'; readonly result: ColumnsRead }
  | { readonly kind: 'failed'; readonly message: string; readonly syscall: string | null };
