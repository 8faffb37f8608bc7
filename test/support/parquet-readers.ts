/** Parquet files as readers see them that share nothing with DuckDB: hyparquet (JavaScript) and parquet-wasm (Rust). */

import { readFileSync } from 'node:fs';

import { decompress } from 'fzstd';
import { parquetReadObjects } from 'hyparquet';
import { readParquet } from 'parquet-wasm';
import * as z from 'zod';

import { ask } from './sample-warehouse.ts';

const rows = z.array(z.record(z.string(), z.unknown()));

/** Every row of a file, nested values and all, by hyparquet. */
export async function rowsByHyparquet(path: string): Promise<Record<string, unknown>[]> {
  const { buffer, byteOffset, byteLength } = readFileSync(path);
  const file = buffer.slice(byteOffset, byteOffset + byteLength);
  if (!(file instanceof ArrayBuffer)) throw new TypeError(`${path} is in shared memory`);
  const compressors = { ZSTD: (input: Uint8Array) => decompress(input) };
  return rows.parse(await parquetReadObjects({ file, compressors }));
}

/** The number of rows of a file that parquet-wasm decodes. */
export function rowsByWasm(path: string): number {
  const table = readParquet(new Uint8Array(readFileSync(path)));
  let count = 0;
  for (const batch of table.recordBatches()) count += batch.numRows;
  table.free();
  return count;
}

const cell = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const readCell = z.union([cell, z.bigint(), z.date()]);

/** Where a file as hyparquet reads it differs from what DuckDB reads; empty if nowhere. */
export async function differencesIn(path: string): Promise<string[]> {
  const expected = await ask(':memory:', `from read_parquet('${path.replaceAll("'", "''")}')`, [
    `set timezone = 'UTC'`,
  ]);
  const read = await rowsByHyparquet(path);
  const counts = [read.length, rowsByWasm(path)].filter((count) => count !== expected.length);
  const found = counts.map((count) => `${path} has ${count} rows, not ${expected.length}`);
  for (const [index, row] of expected.entries())
    for (const [column, stated] of Object.entries(row)) {
      const [value, other] = [cell.parse(stated), readCell.parse(read[index]?.[column] ?? null)];
      if (!isSame(value, other))
        found.push(`${path} ${index} ${column}: ${String(other)}, not ${String(value)}`);
    }
  return found;
}

/** hyparquet reads a decimal as the nearest double, and an instant to the millisecond. */
function isSame(value: z.infer<typeof cell>, other: z.infer<typeof readCell>): boolean {
  if (value === null || other === null) return value === other;
  if (typeof other === 'bigint' || typeof other === 'string')
    return String(value) === String(other);
  if (typeof other === 'number') {
    const [one, two] = [Number(value), other];
    return Math.abs(one - two) <= 1e-12 * Math.max(1, Math.abs(one));
  }
  if (other instanceof Date) {
    const text = String(value).replace(' ', 'T').replace(/\+00$/, '');
    const ms = Date.parse(text.length > 10 ? `${text}Z` : text);
    return Math.abs(ms - other.getTime()) <= 1;
  }
  return value === other;
}
