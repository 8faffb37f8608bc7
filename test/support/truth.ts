/** What the service says, beside what is stored, in one comparable form. */

import * as z from 'zod';

import { canonicalJson } from '../../src/model/canonical-json.ts';
import { formatDecimal, parseDecimal } from '../../src/model/column-type.ts';
import type { Slice } from '../../src/model/slice.ts';
import type { World } from './simulator/world.ts';
import { identifier } from '../../src/warehouse/sql.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';

/** A row as text: its key, then each metric as an exact decimal, or as the nearest double where the column is one. */
export type ComparableRow = string;

const dateForms: Record<string, (label: string) => string> = {
  hour: (label) => label.replace('T', ' '),
  day: (label) => label,
  week: (label) => label.slice(0, 10),
  month: (label) => `${label}-01`,
  quarter: (label) =>
    `${label.slice(3)}-${String((Number(label[1]) - 1) * 3 + 1).padStart(2, '0')}-01`,
  year: (label) => `${label}-01-01`,
};

function comparableNumber(value: unknown, isDouble: boolean): string {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  if (text === '') return 'NULL';
  if (isDouble) return String(Number(text));
  const decimal = parseDecimal(text);
  if (decimal === null) throw new Error(`The truth holds ${text}, which is not a number.`);
  return formatDecimal(decimal);
}

const columnRow = z.object({ column_name: z.string(), data_type: z.string() });

async function doubleColumns(warehouse: Warehouse, table: string): Promise<ReadonlySet<string>> {
  const rows = await warehouse.rows(
    `select column_name, column_type as data_type from (describe ${identifier(table)})`,
    [],
    columnRow,
  );
  return new Set(
    rows.filter(({ data_type }) => data_type === 'DOUBLE').map(({ column_name }) => column_name),
  );
}

/** Every row of a slice's table, sorted. */
export async function storedRows(warehouse: Warehouse, slice: Slice): Promise<ComparableRow[]> {
  const doubles = await doubleColumns(warehouse, slice.name);
  const names = [...slice.dimensions, ...slice.metrics, 'attr_dependency'];
  const rows = await warehouse.rows(
    // By place, as an object loses what is called `__proto__`.
    `select ${names.map((name, at) => `${identifier(name)}::varchar as c${at}`).join(', ')} from ${identifier(slice.name)}`,
    [],
    z.record(z.string(), z.string().nullable()),
  );
  const isMetric = (at: number): boolean => at >= slice.dimensions.length && at < names.length - 1;
  return rows
    .map((row) =>
      JSON.stringify(
        names.map((name, at) => {
          const value = row[`c${at}`];
          return isMetric(at) ? comparableNumber(value, doubles.has(name)) : value;
        }),
      ),
    )
    .sort();
}

/** What the service says for a slice over days (both inclusive) at an instant, in the same form, sorted. */
export async function truthRows(
  warehouse: Warehouse,
  world: World,
  slice: Slice,
  days: string,
  now: Date,
): Promise<ComparableRow[]> {
  const doubles = await doubleColumns(warehouse, slice.name);
  const query = new URLSearchParams({
    ...slice.parameters,
    dimensions: slice.dimensions.join(','),
    metrics: slice.metrics.join(','),
    date_period: days,
    format_dates: 'false',
  });
  const report = world.report(query, now);
  const rows: readonly Record<string, unknown>[] = report?.rows ?? [];
  return rows
    .map((row) =>
      JSON.stringify([
        ...slice.dimensions.map((name) => (dateForms[name] ?? String)(String(row[name]))),
        ...slice.metrics.map((name) => comparableNumber(row[name], doubles.has(name))),
        canonicalJson(JSON.stringify(row['attr_dependency'])),
      ]),
    )
    .sort();
}
