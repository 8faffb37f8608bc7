/** Partners in the warehouse: the service's list, read to its end before anything changes, and those only reports name. */

import * as z from 'zod';

import type { Partner } from '../model/link.ts';
import { count, identifier, insertRows, instant, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { doubtAbout, type Refreshing, replaceStaged, storedRows, warn } from './replace.ts';
import {
  namesPartners,
  readSliceTables,
  rowIdSql,
  readRowScan,
  type StoredSlice,
} from '../tables/stored-slices.ts';

/**
 * Replaces the partners with the service's list, which is read again if it lacks stored ones. Those that it still lacks stay as
 * not listed, as rows may name them, or unchanged while the list is doubted. If partners changed after the as-of instant, warns
 * and leaves all as they are. Throws what the service throws.
 */
export async function refreshPartners(run: Refreshing): Promise<void> {
  const { warehouse, planAt, clock } = run;
  const changed = await changedAt(warehouse);
  if (changed !== null && changed > planAt && changed <= new Date()) {
    const message = `The partners were left as they are: they changed at ${changed.toISOString()}, after the as-of instant.`;
    return warn(run, 'AS_OF_OLDER', message);
  }
  const listed = new Map<string, Partner>();
  await readList(run, listed);
  // If a partner is removed meanwhile, another may move to a page that was read already.
  const stored = await warehouse.rows(
    'select partner_id from main.partners where is_listed',
    [],
    idRow,
  );
  if (stored.some((id) => !listed.has(id))) await readList(run, listed);
  clock.check();
  let doubt: string | null = null;
  const rows = await replacePartners(warehouse, planAt, async () => {
    const partners = [...listed.values()].map(rowOf);
    await insertRows(warehouse, 'ripen_internal.staged_partners', partners);
    const [counts] = await warehouse.rows(statement('links/partner_counts'), [], countsRow);
    doubt = await doubtAbout(
      warehouse,
      planAt,
      { of: 'partners' },
      counts ?? { open: 0, missing: 0 },
    );
    await warehouse.run(statement('links/stage_missing_partners'), [doubt !== null]);
  });
  if (doubt !== null) await warn(run, 'LIST_SHRUNK', doubt);
  run.emit({ type: 'partners_loaded', rows });
}

const idRow = z.object({ partner_id: z.string() }).transform((row) => row.partner_id);
const countsRow = z.object({ open: count, missing: count });

const rowOf = ({ id, displayName, supportsCostData }: Partner) => {
  return {
    partner_id: id,
    display_name: displayName.toWellFormed(),
    supports_cost_data: supportsCostData,
    is_listed: true,
  };
};

/** Reads the list to its end; if a partner is listed twice, the later one counts. */
async function readList(
  { service, signal }: Refreshing,
  listed: Map<string, Partner>,
): Promise<void> {
  for await (const page of service.partners(signal))
    for (const partner of page) listed.set(partner.id, partner);
}

/**
 * Adds the partners that rows name but no list has, such as organic traffic; requests nothing. Reads the rows of the loads that
 * no earlier run has searched, also those in tables that are being built.
 */
export async function completePartners(warehouse: Warehouse, planAt: Date): Promise<void> {
  const { searched: lastScannedLoad, newest } = await readRowScan(warehouse, 'partners');
  if (newest <= lastScannedLoad) return;
  const tables = (await readSliceTables(warehouse)).filter((table) => namesPartners(table));
  await replacePartners(warehouse, planAt, async () => {
    if (tables.length > 0) await warehouse.run(stageCarried(tables, lastScannedLoad));
    await warehouse.run(statement('links/stage_missing_partners'), [true]);
    await warehouse.run(statement('links/record_row_scan'), ['partners', newest]);
  });
}

/** Replaces, in one transaction, the stored partners with those that `stage` stages. Returns how many there are. */
async function replacePartners(
  warehouse: Warehouse,
  planAt: Date,
  stage: () => Promise<void>,
): Promise<number> {
  return warehouse.transact(async () => {
    await stage();
    const changed = await changedAt(warehouse);
    await replaceStaged(
      warehouse,
      { of: 'partners' },
      changed !== null && changed > planAt ? changed : planAt,
    );
    return storedRows(warehouse, 'partners');
  });
}

/** When a partner last changed; null before the first refresh. */
async function changedAt(warehouse: Warehouse): Promise<Date | null> {
  const shape = z.object({ changed_at: instant.nullable() });
  const [newest] = await warehouse.rows(statement('links/partners_changed_at'), [], shape);
  return newest?.changed_at ?? null;
}

/** Stages the unlisted partners that rows of later loads name, under their newest name; an empty name counts as none. */
function stageCarried(tables: readonly StoredSlice[], lastScannedLoad: number): string {
  const carried = tables.map((table) => {
    const name = table.columns.includes('partner_name')
      ? `nullif(s."partner_name", '')`
      : 'null::varchar';
    // Most rows repeat others of their load, and parsing the JSON takes several times as long as removing duplicates.
    const read = ['partner_id', 'partner_name', 'attr_dependency', '_load_id']
      .filter((column) => table.columns.includes(column))
      .map((column) => `s.${identifier(column)}`);
    return `    select ${rowIdSql(table, 'partner_id')} as partner_id, ${name} as partner_name, s."_load_id" as load_id
    from (select distinct ${read.join(', ')} from ${table.table} as s where s."_load_id" > ${lastScannedLoad}) as s`;
  });
  return `insert into ripen_internal.staged_partners
with carried as (
${carried.join('\n    union all\n')}
)
select
    c.partner_id,
    coalesce(arg_max(c.partner_name, c.load_id), any_value(p.display_name), '') as display_name,
    null as supports_cost_data,
    false as is_listed
from carried as c
left join main.partners as p on p.partner_id = c.partner_id
where c.partner_id is not null and p.is_listed is distinct from true
group by c.partner_id`;
}
