/** How one engine is told of a lake; the words differ, the tables and columns do not. */

import type { ObjectStore } from '../../config/config.ts';
import type { LakeColumn, LakeTable } from '../lake-table.ts';

/** A lake as its readers see it. */
export interface DescribedLake {
  /** An absolute directory, or `s3://bucket/prefix`. */
  readonly root: string;
  readonly store: ObjectStore | null;
  /** Whether its tables are Delta tables, not plain files. */
  readonly isDelta: boolean;
  /** The schema, or database, that takes the tables. */
  readonly schema: string;
  readonly tables: readonly LakeTable[];
}

export interface Dialect {
  readonly title: string;
  /** Whether ripen's tests ran statements like these, and in what. */
  readonly proof: string;
  /** What whoever runs the statements has to know, a line each. */
  notes(lake: DescribedLake): readonly string[];
  /** Why the engine cannot read a lake there; null when it can. */
  refusal(lake: DescribedLake): string | null;
  /** What comes before the tables. */
  preamble(lake: DescribedLake): readonly string[];
  table(table: LakeTable, lake: DescribedLake): readonly string[];
  /** How views quote a name, with its schema where the second is given. */
  name(name: string, schema?: string): string;
  readonly text: (value: string) => string;
}

/** The columns of a table as engines with partitions see them: those in its files, and the one in the path. */
export function dividedColumns({ columns, key }: LakeTable): {
  readonly inFiles: readonly LakeColumn[];
  readonly inPath: LakeColumn | null;
} {
  const inFiles = columns.filter(({ name }) => name !== key);
  if (key === null) return { inFiles, inPath: null };
  const own = columns.find(({ name }) => name === key);
  return { inFiles, inPath: own ?? { name: key, type: 'DATE', comment: `The ${key} the rows are filed under.` } };
}

/** A plain type in an engine's words; DECIMAL keeps its digits. */
export function typeIn(words: Readonly<Record<string, string>>, type: string): string {
  return words[type] ?? type.toLowerCase();
}

/** Text in single quotes, a quote doubled. */
export const doubled = (value: string): string => `'${value.replaceAll("'", "''")}'`;

/** Text in single quotes for engines in which a backslash escapes. */
export const backslashed = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;

/** A name in backticks, a backtick doubled. */
export const backticked = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

/** A name in double quotes, a double quote doubled. */
export const doubleQuoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;
