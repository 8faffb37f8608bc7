/** ClickHouse inside this process, as `npm run test:lake` installs it; without it the tests fail rather than skip. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import * as z from 'zod';

import { chdbFolder } from '../../config/tooling/install-chdb.ts';

const fromThere = createRequire(join(chdbFolder, 'index.js'));

export interface ClickHouse {
  /** Version of the package. */
  readonly version: string;
  /** Runs statements as they are printed, each ended by a semicolon at the end of a line. */
  runAll(statements: string): Promise<void>;
  /** The rows of a query, every value as text; NULL as null. */
  rows(sql: string): Promise<Record<string, string | null>[]>;
  close(): void;
}

interface Session {
  queryAsync(sql: string, options: { readonly format: string }): Promise<{ text(): string }>;
  cleanup(): void;
}

function isSessionClass(value: unknown): value is new () => Session {
  return typeof value === 'function';
}

const row = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean()]).nullable().transform(asText),
);

function asText(value: string | number | boolean | null): string | null {
  return value === null ? null : String(value);
}

/** A JSON number would lose the digits of a decimal. */
const AS_TEXT = [
  'output_format_json_quote_decimals',
  'output_format_json_quote_64bit_integers',
  'output_format_decimal_trailing_zeros',
]
  .map((name) => `${name} = 1`)
  .join(', ');

/** Opens ClickHouse with tables of its own, which are gone when it is closed. It reads the credentials of the environment. */
export function openClickHouse(): ClickHouse {
  const chdb: unknown = fromThere('chdb');
  const Session: unknown = z.object({ Session: z.unknown() }).parse(chdb).Session;
  if (!isSessionClass(Session)) throw new Error('chdb has no sessions');
  // It takes Delta tables from below the directory it was opened in alone.
  process.chdir('/');
  const session = new Session();
  const manifest = readFileSync(join(chdbFolder, 'node_modules/chdb/package.json'), 'utf8');
  return {
    version: z.object({ version: z.string() }).parse(JSON.parse(manifest)).version,
    async runAll(statements) {
      for (const sql of statements.split(/;$/m)) {
        // A statement that is a comment alone is none.
        if (/^\s*[a-z]/im.test(sql.replaceAll(/^--.*$/gm, '')))
          await session.queryAsync(sql, { format: 'CSV' });
      }
    },
    async rows(sql) {
      const result = await session.queryAsync(`select * from (${sql}) settings ${AS_TEXT}`, {
        format: 'JSONEachRow',
      });
      return result
        .text()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => row.parse(JSON.parse(line)));
    },
    close: () => {
      session.cleanup();
    },
  };
}

export type ComparableRow = Record<string, string | null>;

/** Rows as text, sorted with their columns; instants without a fraction that is zero. */
export function comparable(rows: readonly Readonly<Record<string, unknown>>[]): ComparableRow[] {
  const textOf = (value: unknown): string | null =>
    value === null
      ? null
      : (typeof value === 'string' ? value : JSON.stringify(value)).replace(/(:\d\d)\.0+$/, '$1');
  const sorted = rows.map((row) =>
    Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
  return sorted
    .map((cells) => Object.fromEntries(cells.map(([name, value]) => [name, textOf(value)])))
    .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}
