/** What becomes of texts that the fast cast did not take. */

import * as z from 'zod';

import { count } from '../warehouse/shapes.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { resolveOddTexts, widenForDigits, type Resolution } from './odd-texts.ts';
import type { Columns } from './target.ts';
import { staging } from './staging-sql.ts';
import { anyOdd, oddDigits, oddTexts } from './typing-sql.ts';

const oddRow = z.object({ metric: z.string(), text: z.string() });

/** Whether `typed` lacks the value of some text: it is in an unusual form, does not fit its column, or is no number. */
export async function hasOddTexts(warehouse: Warehouse): Promise<boolean> {
  const [found] = await warehouse.rows(anyOdd, [], z.object({ rows: count }));
  return found !== undefined && found.rows > 0;
}

/**
 * Decides what becomes of the odd texts of `staged`, and fills `plainTexts` and `notNumbers`. Plain numbers, which may be
 * millions, are decided by their digits inside DuckDB; the few in an unusual form one by one.
 */
export async function resolveTexts(warehouse: Warehouse, columns: Columns): Promise<Resolution> {
  const types = new Map(columns.metrics.map(({ id, type }) => [id, type]));
  const sql = oddDigits(columns);
  const [digits = {}] = sql === null ? [] : await warehouse.rows(sql, [], z.record(z.string(), count.nullable()));
  const byDigits = widenForDigits(
    columns.metrics.map(({ id }, at) => ({
      metric: id,
      whole: digits[`w${at}`] ?? null,
      fraction: digits[`f${at}`] ?? null,
    })),
    types,
  );
  const metrics = columns.metrics.map((metric) => ({ ...metric, type: byDigits.get(metric.id) ?? metric.type }));
  const resolution = resolveOddTexts(
    await warehouse.rows(oddTexts({ ...columns, metrics }), [], oddRow),
    new Map([...types, ...byDigits]),
  );
  await fillTable(
    warehouse,
    'plainTexts',
    resolution.plain.map(({ metric, text, plain }) => [metric, text, plain]),
  );
  await fillTable(
    warehouse,
    'notNumbers',
    resolution.notNumbers.map(({ metric, text, reason }) => [metric, text, reason]),
  );
  return { ...resolution, widened: new Map([...byDigits, ...resolution.widened]) };
}

async function fillTable(
  warehouse: Warehouse,
  table: 'plainTexts' | 'notNumbers',
  rows: readonly (readonly [string, string, string])[],
): Promise<void> {
  const third = table === 'plainTexts' ? 'plain' : 'reason';
  const objects = rows.map(([metric, text, last]) => ({ metric, text, [third]: last }));
  await warehouse.run(
    `create or replace temp table ${staging[table]} as
     select unnest(from_json($1::json, '[{"metric":"VARCHAR","text":"VARCHAR","${third}":"VARCHAR"}]'), recursive := true)`,
    [JSON.stringify(objects)],
  );
}
