/** One line of a spend file as it was read, before any rule was held against it. */

/** The columns every line must fill. */
export const requiredColumns = ['cost_id', 'cost_type', 'cost_currency', 'cost_amount', 'tag'] as const;

/** When the engagement was; checked where it is given, never sent. */
export const ENGAGED_AT = 'engaged_at';

/** All columns that mean something, in the order they are documented. */
export const spendColumns = [...requiredColumns, ENGAGED_AT] as const;

export type SpendColumn = (typeof spendColumns)[number];

/** What a rejects file adds; such a file can be mended and sent as it is. */
export const rejectColumns = ['line', 'reasons'] as const;

export interface SpendRecord {
  /** Line of the file it begins on, counted from 1 as an editor does; in Parquet the row. */
  readonly line: number;
  /** Every column as given, by name; numbers are their own text. */
  readonly given: Readonly<Record<string, unknown>>;
  /** What is wrong with the form of the line itself. */
  readonly defects: readonly string[];
  /** All that a line held which fell apart; its columns are a guess then, and must not be shown as if they were meant. */
  readonly raw?: string | readonly string[];
}

/** A spend file, opened: its records in order, read as they are asked for. */
export type SpendRecords = AsyncGenerator<SpendRecord, void>;
