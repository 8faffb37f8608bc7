/**
 * Decides what becomes of texts that the fast cast does not take: numbers that fit, numbers that widen their column, or no
 * numbers. Nothing is rounded.
 *
 * A column widens to the narrowest decimal that holds everything. Digits after the point are taken from those before it, and
 * from sums: more than 20 of them nobody counted, they are what computing with doubles leaves (`-1.4210854715202004e-14`). Where
 * a metric has so many, and all of its numbers are what doubles say, held ones too, its column becomes one of doubles, and takes
 * no others from then on. A count's never does, and one that was declared DOUBLE takes the nearest double of every number.
 */

import * as z from 'zod';

import {
  type ColumnType,
  digitsOf,
  DOUBLE,
  formatColumnType,
  formatDecimal,
  isOfDouble,
  MOST_FRACTION_DIGITS,
  parseDecimal,
  widen,
} from '../model/column-type.ts';
import { count } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { becameDouble, type Columns, type MetricColumn } from './target.ts';
import { countNoDoubles, oddDigits, oddTexts } from './text-sql.ts';
import { staging } from './window-sql.ts';

const oddRow = z.object({ metric: z.string(), text: z.string() });

/**
 * Decides what becomes of the odd texts of `staged`, and fills `plainTexts` and `notNumbers`. Plain numbers, which may be
 * millions, are decided by their digits inside DuckDB; the few in an unusual form one by one. A type has to hold what `table`
 * holds of the metric, too.
 */
export async function resolveTexts(warehouse: Warehouse, columns: Columns, table: string): Promise<Resolution> {
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
  const byText = await resolveIn(warehouse, columns, byDigits);
  const doubles = new Map<string, ColumnType>();
  for (const metric of columns.metrics) {
    if (!byText.crowded.has(metric.id)) continue;
    const sql = countNoDoubles(metric, table);
    const [found] = await warehouse.rows(sql, [], z.object({ numbers: count }));
    if (found?.numbers === 0) doubles.set(metric.id, DOUBLE);
  }
  const wider = new Map([...byDigits, ...doubles]);
  const resolution = doubles.size === 0 ? byText : await resolveIn(warehouse, columns, wider);
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
  return { ...resolution, widened: new Map([...wider, ...resolution.widened]) };
}

/** Decides the texts of `staged` that are odd to columns, some of which are of wider types. */
async function resolveIn(
  warehouse: Warehouse,
  columns: Columns,
  wider: ReadonlyMap<string, ColumnType>,
): Promise<Resolution> {
  const metrics = columns.metrics.map((metric) => ({ ...metric, type: wider.get(metric.id) ?? metric.type }));
  return resolveOddTexts(await warehouse.rows(oddTexts({ ...columns, metrics }), [], oddRow), metrics);
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

interface OddText {
  readonly metric: string;
  readonly text: string;
}

interface Resolution {
  /** The number without exponent, sign or blanks that a cast to the column's type would trip over. */
  readonly plain: readonly (OddText & { readonly plain: string })[];
  readonly notNumbers: readonly (OddText & { readonly reason: string })[];
  /** The types of the metrics whose columns must widen. */
  readonly widened: ReadonlyMap<string, ColumnType>;
  /** Metrics whose texts have too many digits for a roomy decimal, and are all what doubles say. */
  readonly crowded: ReadonlySet<string>;
}

/** The most digits before and after the point among the plain odd texts of a metric; null without any. */
interface OddDigits {
  readonly metric: string;
  readonly whole: number | null;
  readonly fraction: number | null;
}

/** The types of metrics that one wider type holds all plain odd texts of; the others are decided text by text. */
export function widenForDigits(
  found: readonly OddDigits[],
  types: ReadonlyMap<string, ColumnType>,
): ReadonlyMap<string, ColumnType> {
  const widened = new Map<string, ColumnType>();
  for (const { metric, whole, fraction } of found) {
    const type = types.get(metric);
    if (type === undefined) throw new RangeError(`No type for metric ${metric}.`);
    if (whole === null || fraction === null) continue;
    const wider = widen(type, { whole, fraction });
    if (wider !== null) widened.set(metric, wider);
  }
  return widened;
}

/**
 * Decides every odd text: a number that fits, a number that widens its column, or no number at all. Nothing is rounded:
 * a number that no type of the warehouse holds exactly is refused with its reason.
 */
export function resolveOddTexts(
  texts: readonly OddText[],
  metrics: readonly Pick<MetricColumn, 'id' | 'type' | 'declared'>[],
): Resolution {
  const known = new Map(metrics.map((metric) => [metric.id, metric]));
  const plain: (OddText & { plain: string })[] = [];
  const notNumbers: (OddText & { reason: string })[] = [];
  const widened = new Map<string, ColumnType>();
  const crowded = new Set<string>();
  const others = new Set<string>();
  for (const odd of texts) {
    const metric = known.get(odd.metric);
    if (metric === undefined) throw new RangeError(`No type for metric ${odd.metric}.`);
    const { declared } = metric;
    const type = widened.get(odd.metric) ?? metric.type;
    const number = parseDecimal(odd.text);
    if (number === null) {
      notNumbers.push({ ...odd, reason: 'not a number' });
    } else if (type.kind === 'DOUBLE') {
      const reason = unfitForDouble(odd, number, becameDouble({ type, declared }));
      if (reason === null) plain.push({ ...odd, plain: odd.text.trim() });
      else notNumbers.push({ ...odd, reason });
    } else {
      const wider = widen(type, digitsOf(number));
      if (declared.kind === 'BIGINT' || !isOfDouble(number)) others.add(odd.metric);
      if (wider === null || (wider !== type && isCrowded(wider))) crowded.add(odd.metric);
      if (wider === null) {
        const { whole, fraction } = digitsOf(number);
        notNumbers.push({
          ...odd,
          reason: `${whole} digits before the point and ${fraction} after do not fit ${formatColumnType(type)}, nor any wider type`,
        });
      } else {
        if (formatColumnType(wider) !== formatColumnType(type)) widened.set(odd.metric, wider);
        plain.push({ ...odd, plain: formatDecimal(number) });
      }
    }
  }
  for (const metric of others) crowded.delete(metric);
  return { plain, notNumbers, widened, crowded };
}

/** Why a column of doubles does not take a number; null where it does. */
function unfitForDouble(
  { metric, text }: OddText,
  number: NonNullable<ReturnType<typeof parseDecimal>>,
  isExact: boolean,
): string | null {
  if (!Number.isFinite(Number(text))) return 'beyond the range of a double';
  if (!isExact || isOfDouble(number)) return null;
  return `its column is DOUBLE, which would round it (\`${nearestDoubles(metric)}\` lets it)`;
}

/** The setting with which the column of a metric takes the nearest double of every number. */
export const nearestDoubles = (metric: string): string => `types: { ${metric}: DOUBLE }`;

const isCrowded = (type: ColumnType): boolean => type.kind === 'DECIMAL' && type.scale > MOST_FRACTION_DIGITS;
