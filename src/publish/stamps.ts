/** What the rows of each period of a table follow from, by which a publication tells whether they can have changed without reading them. */

import * as z from 'zod';

import { addDays, day, type Day } from '../model/calendar.ts';
import { linksOfPeriods, listsFingerprint } from '../tables/linked-rows.ts';
import { namesLinks } from '../tables/stored-slices.ts';
import { identifier, literal } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type LakeTable, rowsOf } from './lake-table.ts';

const stampRow = z.object({ period: z.string().nullable(), stamp: z.string().nullable() });
const linksRow = z.object({ period: z.string().nullable(), links: z.string() });
const listsRow = z.object({ rule: z.string(), links: z.string() });

/** What the rows of a period are known by. */
export interface PeriodContent {
  readonly rows: number;
  /** Equal for equal rows. */
  readonly content: string;
  /** Which load brought all of the rows; empty where none did. */
  readonly stamp: string;
  /** Per column of an exact type the sum as decimal text; null when every value is. */
  readonly sums: Readonly<Record<string, string | null>>;
}

/**
 * What the files of a table state of their rows, by first day; under the empty text for a table that is not divided. Null where the
 * files of a period cannot stay: damaged, of other columns, several, or of another program.
 */
export type StatedFiles = ReadonlyMap<string, PeriodContent | null>;

/**
 * What the rows of each period follow from: the load, and for a table of links what the lists say. Of the links of one period that is
 * found in the rows, where any link at all changed since its file was written.
 */
export async function readStamps(
  warehouse: Pick<Warehouse, 'rows'>,
  table: LakeTable,
  held: StatedFiles,
): Promise<ReadonlyMap<string, string>> {
  const loads = await loadsOfPeriods(warehouse, table);
  const [lists] = table.linked === null ? [] : await warehouse.rows(listsFingerprint(table.linked), [], listsRow);
  if (table.linked === null || lists === undefined) return loads;
  const { rule, links: all } = lists;
  const stamps = new Map<string, string>();
  for (const [key, load] of loads) {
    const stated = held.get(key)?.stamp.split(STAMP_PARTS) ?? [];
    const isSame = stated[0] === load && stated[1] === rule && stated[3] === all;
    if (load === '' || isSame) stamps.set(key, isSame ? stated.join(STAMP_PARTS) : '');
  }
  const changed = [...loads].filter(([key]) => !stamps.has(key));
  const within = conditionOn(table, changed.length > loads.size / 2 ? [] : changed.map(([key]) => periodOf(key)));
  const rows = { ...table.linked, table: rowsOf(table.linked.table)(within) };
  const links = new Map<string, string>();
  if (changed.length > 0 && namesLinks(rows)) {
    const sums = await warehouse.rows(linksOfPeriods(rows, periodIn(table)), [], linksRow);
    for (const { period, links: sum } of sums) links.set(period ?? '', sum);
  }
  for (const [key, load] of changed) stamps.set(key, [load, rule, links.get(key) ?? '', all].join(STAMP_PARTS));
  return stamps;
}

/** No id of a run has it. */
const STAMP_PARTS = '\t';

/** Whether rows of two stamps are equal: those of links may differ in the lists as a whole. */
export const isSameStamp = (one: string, other: string): boolean =>
  one.split(STAMP_PARTS, 3).join() === other.split(STAMP_PARTS, 3).join();

/**
 * Which load brought the rows of each period: the ledger says it, where it accounts for as many rows as the table has; of a cube and of a
 * table that is not divided the rows themselves do, which takes a scan.
 */
async function loadsOfPeriods(
  warehouse: Pick<Warehouse, 'rows'>,
  table: LakeTable,
): Promise<ReadonlyMap<string, string>> {
  const rows = table.linked?.table ?? table.rows(null);
  const ledger = `select p.start_day as period, p.rows, p.load_id as oldest, p.load_id as newest
    from ripen.periods as p
    join ripen.slice_tables as t on t.slice = p.slice and t.fingerprint = p.fingerprint and t.state = 'live'
    where p.slice = ${literal(table.slice ?? table.name)} and p.rows > 0
    qualify sum(p.rows) over () = (select count(*) from ${rows})`;
  const scan = `select ${periodIn(table)} as period, count(*) as rows, min(_load_id) as oldest, max(_load_id) as newest
    from ${rows}
    group by 1`;
  const known = table.grain === null ? [] : await warehouse.rows(stampPeriods(table, ledger), [], stampRow);
  const found = known.length > 0 ? known : await warehouse.rows(stampPeriods(table, scan), [], stampRow);
  return new Map(found.map(({ period, stamp }) => [period ?? '', stamp ?? '']));
}

/**
 * Period (null: not divided) and stamp, null where no single load brought all rows, from rows of period, rows, oldest and newest load.
 *
 * Only a load writes rows and gives them its id, so rows of one stamp are equal, but for a column that was removed: if it returns
 * before a publish without it, it holds nothing of those loads any more. So removals count too.
 */
function stampPeriods(table: LakeTable, held: string): string {
  return `with held as (
    ${held}
)
select
    held.period::varchar as period,
    case
        when held.oldest = held.newest
            then held.rows || '-' || l.load_id || '-' || l.run_id || '-' || epoch_us(l.loaded_at) || removed.suffix
    end as stamp
from held
cross join (
    select case when count(*) > 0 then '-' || count(*) else '' end as suffix
    from ripen.schema_changes
    where object = ${literal(table.slice ?? table.name)} and change = 'column removed'
) as removed
left join ripen.loads as l on l.load_id = held.newest
order by held.period`;
}

/** The first day of a period, from its key in `StatedFiles`; null for a table that is not divided. */
export const periodOf = (key: string): Day | null => (key === '' ? null : day(key));

/** The first day of the period of a row, as SQL. */
export const periodIn = ({ grain }: LakeTable): string =>
  grain === null ? 'null::date' : `cast(${identifier(grain)} as DATE)`;

/**
 * The condition for some periods, null for no condition: of none, or of a table that is not divided. The bare column is compared, so
 * that only the blocks of the periods are read.
 */
export function conditionOn({ grain }: LakeTable, periods: readonly (Day | null)[]): string | null {
  const days = periods.filter((each) => each !== null);
  if (grain === null || days.length === 0) return null;
  const column = identifier(grain);
  if (grain !== 'hour') return `${column} in (${days.map((each) => `DATE ${literal(each)}`).join(', ')})`;
  return days
    .map((each) => `${column} >= TIMESTAMP ${literal(each)} and ${column} < TIMESTAMP ${literal(addDays(each, 1))}`)
    .join(' or ');
}
