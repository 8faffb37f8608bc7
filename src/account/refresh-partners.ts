/** Partners in the warehouse: the service's list, and those that only reports name. */

import * as z from 'zod';

import { warningEvent } from '../events.ts';
import { count, identifier, insertRows, instant, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { doubtAbout, type Refreshing, replaceStaged } from './replace-rows.ts';
import { namesPartners, readSliceTables, rowIdSql, readRowScan } from './stored-slices.ts';

/**
 * Replaces the partners with the service's list. Those that it lacks, even read again, stay as not listed, as rows may name
 * them, or unchanged while the list is doubted.
 */
export async function refreshPartners(run: Refreshing): Promise<void> {
  const { warehouse, service, planAt, clock, signal } = run;
  const changed = await changedAt(warehouse);
  if (changed !== null && changed > planAt && changed <= new Date()) {
    const message = `The partners were not updated: they changed at ${changed.toISOString()}, after the as-of instant.`;
    run.emit(warningEvent('AS_OF_OLDER', message));
    return;
  }
  const listed = new Map<string, object>();
  const readList = async () => {
    for await (const page of service.partners(signal)) {
      for (const { id, displayName, supportsCostData } of page) {
        listed.set(id, {
          partner_id: id,
          display_name: displayName.toWellFormed(),
          supports_cost_data: supportsCostData,
          is_listed: true,
        });
      }
    }
  };
  await readList();
  // If a partner is removed meanwhile, another may move to a page that was read already.
  const sql = 'select partner_id from main.partners where is_listed';
  const stored = await warehouse.rows(sql, [], z.object({ partner_id: z.string() }));
  if (stored.some(({ partner_id: id }) => !listed.has(id))) await readList();
  clock.check();
  let doubt: string | null = null;
  const rows = await replacePartners(warehouse, planAt, async () => {
    await insertRows(warehouse, 'ripen_internal.staged_partners', [...listed.values()]);
    const [counts = { open: 0, missing: 0 }] = await warehouse.rows(
      statement('links/partner_counts'),
      [],
      z.object({ open: count, missing: count }),
    );
    doubt = await doubtAbout(warehouse, planAt, null, counts);
    await warehouse.run(statement('links/stage_missing_partners'), [doubt !== null]);
  });
  if (doubt !== null) run.emit(warningEvent('LIST_SHRUNK', doubt));
  run.emit({ type: 'partners_loaded', rows });
}

/** Adds partners that only rows name, such as organic traffic. Reads only new loads. */
export async function completePartners(warehouse: Warehouse, planAt: Date): Promise<void> {
  const { searched: lastScannedLoad, newest } = await readRowScan(warehouse, 'partners');
  if (newest <= lastScannedLoad) return;
  const carried = (await readSliceTables(warehouse)).filter(namesPartners).map((slice) => {
    const { table, columns } = slice;
    const name = columns.includes('partner_name')
      ? `nullif(s."partner_name", '')`
      : 'null::varchar';
    // Parsing the JSON of every row takes several times as long as removing duplicates.
    const read = ['partner_id', 'partner_name', 'attr_dependency', '_load_id']
      .filter((column) => columns.includes(column))
      .map((column) => `s.${identifier(column)}`);
    return `    select ${rowIdSql(slice, 'partner_id')} as partner_id, ${name} as partner_name, s."_load_id" as load_id
    from (select distinct ${read.join(', ')} from ${table} as s where s."_load_id" > ${lastScannedLoad}) as s`;
  });
  await replacePartners(warehouse, planAt, async () => {
    if (carried.length > 0) {
      await warehouse.run(`insert into ripen_internal.staged_partners
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
group by c.partner_id`);
    }
    await warehouse.run(statement('links/stage_missing_partners'), [true]);
    await warehouse.run(statement('links/record_row_scan'), ['partners', newest]);
  });
}

async function replacePartners(warehouse: Warehouse, planAt: Date, stage: () => Promise<void>) {
  return warehouse.transact(async () => {
    await stage();
    const changed = await changedAt(warehouse);
    const from = changed !== null && changed > planAt ? changed : planAt;
    return replaceStaged(warehouse, null, from);
  });
}

async function changedAt(warehouse: Warehouse) {
  const shape = z.object({ changed_at: instant.nullable() });
  const [newest] = await warehouse.rows(statement('links/partners_changed_at'), [], shape);
  return newest?.changed_at ?? null;
}
