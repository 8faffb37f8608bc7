/** SQL: the fixed statements of `sql/`, parts of built ones, and the shapes of results. */

import { readdirSync, readFileSync } from 'node:fs';

import * as z from 'zod';

import { Failure, textOf } from '../errors.ts';
import { day, type Day } from '../model/calendar.ts';
import { type ColumnType, isSummedWide } from '../model/column-type.ts';
import type { DateDimension } from '../model/dimension.ts';
import { cachedReads } from './cached-reads.ts';
import { isUnknownToEngine, type Bindable, type Warehouse } from './warehouse.ts';

export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** For places where nothing can be bound. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Returns the type of the column too, to compare that bare. */
export const dayLiteral = (grain: DateDimension | 'start_day', start: Day): string =>
  `${grain === 'hour' ? 'TIMESTAMP' : 'DATE'} ${literal(start)}`;

/** Statements may end in a comment. Run together, they take two thirds of the time (measured). */
export const asScript = (statements: readonly string[]): string => statements.join('\n;\n');

export function bound(name: string, parameters: readonly Bindable[]): string {
  const body = statement(name).replace(/^(?:--.*\n)*/, '');
  return body.replaceAll(/\$(\d+)/g, (_, at: string) => {
    const value = parameters[Number(at) - 1];
    if (value === undefined) throw new RangeError(`Nothing is bound to $${at} of ${name}.`);
    return typeof value === 'string' ? literal(value) : String(value);
  });
}

export const jsonOf = <T>(shape: z.ZodType<T>) =>
  z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch (error) {
        context.addIssue(textOf(error));
        return z.NEVER;
      }
    })
    .pipe(shape);

/** BIGINT arrives as text. */
export const count = z.union([z.string(), z.number()]).transform(Number);

/** A TIMESTAMP is in UTC everywhere in the warehouse. */
export const instantOf = (text: string): Date => new Date(`${text.replace(' ', 'T')}Z`);

export const instant = z.string().transform((text) => instantOf(text));

export const dayShape = z.string().transform((text) => day(text));

export const timestamp = (at: Date): string => at.toISOString().replace('Z', '');

const root = new URL('../../sql/', import.meta.url);
const statements = new Map<string, string>();

export function statement(name: string): string {
  const text = statements.get(name) ?? readFileSync(new URL(`${name}.sql`, root), 'utf8');
  statements.set(name, text);
  return text;
}

export function migrations() {
  return readdirSync(new URL('migrations/', root))
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => {
      const name = file.replace(/\.sql$/, '');
      return { version: Number(name.slice(0, 4)), name, script: statement(`migrations/${name}`) };
    });
}

const columnRow = z.object({ relation: z.string(), name: z.string(), type: z.string() });

async function describedColumns(
  warehouse: Warehouse,
  relations: readonly string[],
): Promise<z.infer<typeof columnRow>[]> {
  // A catalog function would read every column of every view in the warehouse.
  const described = relations.map(
    (relation) =>
      `select ${literal(relation)} as relation, column_name as name, column_type as type from (describe ${relation})`,
  );
  try {
    return await warehouse.rows(described.join('\nunion all\n'), [], columnRow);
  } catch (error) {
    if (!isUnknownToEngine(error)) throw error;
    if (relations.length === 1) return [];
    const columns = relations.map(async (relation) => describedColumns(warehouse, [relation]));
    return (await Promise.all(columns)).flat();
  }
}

/** Empty if the relation, quoted and with its schema, is missing. */
export const columnTypes = cachedReads(
  async (warehouse, relations): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> => {
    const types = new Map(relations.map((relation) => [relation, new Map<string, string>()]));
    for (const { relation, name, type } of await describedColumns(warehouse, relations))
      types.get(relation)?.set(name, type);
    return types;
  },
  'relations',
);

/** The same in every warehouse. */
const migratedTypes = new Map<string, ReadonlyMap<string, string>>();

/** Limits the JSON of one statement to some megabytes. */
const MAX_ROWS_AT_ONCE = 5000;

/**
 * Inserts rows by the names of columns into a table that only migrations alter. A column that the first row lacks gets its
 * default, or stays as it is in a replaced row. A JSON value is its text.
 */
export async function insertRows(
  warehouse: Warehouse,
  table: string,
  rows: readonly object[],
  verb: 'insert' | 'insert or replace' = 'insert',
): Promise<void> {
  for (let from = 0; from < rows.length; from += MAX_ROWS_AT_ONCE) {
    const chunk = rows.slice(from, from + MAX_ROWS_AT_ONCE);
    const sql = await insertion(warehouse, table, chunk, { verb, json: '$1' });
    await warehouse.run(sql, [JSON.stringify(chunk)]);
  }
}

/** Returns the statement of `insertRows`, for a script or with a parameter for the rows. */
export async function insertion(
  warehouse: Warehouse,
  table: string,
  rows: readonly object[],
  { verb = 'insert', json = literal(JSON.stringify(rows)) } = {},
): Promise<string> {
  const types = migratedTypes.get(table) ?? (await columnTypes(warehouse, table));
  if (types.size > 0) migratedTypes.set(table, types);
  const [first = {}] = rows;
  // As JSON, a text would be quoted once more.
  const shape = [...types].flatMap(([name, type]) =>
    name in first ? [[name, type === 'JSON' ? 'VARCHAR' : type]] : [],
  );
  const structure = literal(JSON.stringify([Object.fromEntries(shape)]));
  return `${verb} into ${table} by name select unnest(from_json(${json}::json, ${structure}), max_depth := 2)`;
}

/** As `columnTypes`, for a table in the ledger. Throws `STORAGE_FAILED` if it is missing. */
export async function storedColumnTypes(
  warehouse: Warehouse,
  table: string,
  slice: string,
): Promise<ReadonlyMap<string, string>> {
  const types = await columnTypes(warehouse, table);
  if (types.size > 0) return types;
  const message = `The table ${table} of the slice ${slice} was missing from the warehouse.`;
  throw new Failure('STORAGE_FAILED', message, {
    facts: { slice, table },
    hint: `Restore the warehouse from a copy, or delete the slice with \`ripen drop --slice ${slice}\`: the next sync then loads it anew.`,
  });
}

/** Returns a sum to be summed further, or compared with others of its type. */
export function exactSum(column: string, type: ColumnType): string {
  return isSummedWide(type)
    ? `sum(cast(replace(cast(${column} as VARCHAR), '.', '') as BIGNUM))`
    : `sum(${column})`;
}

export function sumText(sum: string, type: ColumnType): string {
  if (!isSummedWide(type)) return `${sum}::varchar`;
  // A wide sum counts the smallest units.
  const { fraction: scale } = type;
  const text = `cast(${sum} as VARCHAR)`;
  if (scale === 0) return text;
  const pointed = `regexp_replace(regexp_replace(${text}, '^-?', '\\0${'0'.repeat(scale)}'), '\\d{${scale}}$', '.\\0')`;
  return `regexp_replace(${pointed}, '^(-?)0+(\\d)', '\\1\\2')`;
}
