/** What passes between the column reader and its thread. */

import type { ColumnType } from '../../model/column-type.ts';
import type { SavedBody } from '../../service/service.ts';
import type { Members } from '../envelope.ts';

export const BODY = 'body,';

export const EXTRA = '_extra';

/** Rows that their columns do not hold, with reasons, as JSON. */
export const REJECTED = 'rejected,';

export interface Reason {
  readonly metric: string;
  readonly reason: string;
}

export const ATTR_DEPENDENCY = 'attr_dependency';

/** In table order. `attr_dependency` follows. */
export interface SliceColumns {
  readonly dimensions: readonly string[];
  readonly metrics: readonly { readonly id: string; readonly type: ColumnType }[];
  /** Requested keys without a column. */
  readonly dropped?: readonly string[];
}

export interface BodyHead {
  readonly rows: number;
  readonly rowsDigest: string;
  readonly members: Members;
  /** Why the body is not one complete report, whose rows are then meaningless. */
  readonly because: string | null;
}

export interface BodyRead extends BodyHead {
  /** The keys of any row, and those of every row. */
  readonly keys: readonly string[];
  readonly commonKeys: readonly string[];
  readonly badLabel: { readonly dimension: string; readonly label: string } | null;
  /** By metric with a fraction, the most digits after the point. */
  readonly digits: ReadonlyMap<string, number>;
}

export interface ColumnsRead {
  readonly bodies: readonly BodyRead[];
  /** The narrowest exact types for columns that do not hold all their numbers: the answer must be read again. */
  readonly unfit: ReadonlyMap<string, ColumnType>;
  readonly hasExtra: boolean;
  readonly hasRejected: boolean;
  /** Whether the rows are in the order of their finest dates. */
  readonly isOrdered: boolean;
  /** Whether all rows are known to differ in dimensions and `attr_dependency`. */
  readonly isDistinct: boolean;
}

export interface ReadRequest {
  readonly columns: SliceColumns;
  readonly bodies: readonly SavedBytes[];
  /** The path of a file that does not exist: DuckDB remembers files by their names. */
  readonly to: string;
  readonly secrets?: readonly string[];
}

export type SavedBytes = Pick<SavedBody, 'path' | 'encoding' | 'plainBytes'>;

/** `syscall` is empty unless the file system failed. */
export type Reply = ColumnsRead | { readonly message: string; readonly syscall: string };
