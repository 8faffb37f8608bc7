/**
 * Partners in the warehouse: the whole list of the service, and the partners that only reports carry.
 *
 * Hides staging and versions. The list is read to its end first, then tables and history change in one transaction.
 */

import * as z from 'zod';

import { Failure } from '../errors.ts';
import type { Partner } from '../model/link.ts';
import type { ShortList } from '../service/service.ts';
import { count, identifier, instant, statement, storable, timestamp } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { type Refreshing, warn } from './refresh-links.ts';
import { doubtfulList, doubtOf, recordBelieved, type ShortLists, shortOf, type Subject } from './shrunk.ts';
import { namesPartners, readLiveSlices, rowIdSql, type LiveSlice } from './live-slices.ts';

/**
 * Replaces the partners by the service's list; those it lacks, when it is read twice, stay as not listed until
 * `completePartners` has judged whether rows carry them. Leaves them as they are, with a warning, where they changed after the
 * as-of instant. Returns how many there are. Throws what the service throws, and
 * `DATA_SHRUNK` when most of the stored ones are listed no more and no earlier night agrees; then nothing has changed.
 */
export async function refreshPartners(run: Refreshing): Promise<{ readonly rows: number }> {
  const newest = await changedAt(run.warehouse);
  if (newest !== null && newest > run.planAt && newest <= new Date()) {
    const message = `The partners were left as they are: they changed at ${newest.toISOString()}, after the as-of instant.`;
    await warn(run, 'AS_OF_OLDER', message);
    return { rows: await storedRows(run.warehouse) };
  }
  const listed = new Map<string, Partner>();
  let short = await readList(run, listed);
  // One may slip from one page to the one before, which was read already, when another is removed meanwhile.
  const stored = await run.warehouse.rows('select partner_id from main.partners where is_listed', [], idRow);
  if (stored.some((id) => !listed.has(id))) short = await readList(run, listed);
  const rows = await replaceByList(run, listed, short);
  const told = shortOf(SUBJECT, short);
  if (told !== null) await warn(run, 'LIST_SHORT', told);
  run.emit({ type: 'partners_loaded', rows });
  return { rows };
}

/** Partners have no levels. */
const ONE_LIST = 1;
const SUBJECT: Subject = { key: 'partners', name: 'The service', items: 'partners' };

const idRow = z.object({ partner_id: z.string() }).transform((row) => row.partner_id);

/** Reads the list to its end; of a partner that is listed twice the later one counts. Returns whether it was short. */
async function readList({ service, signal }: Refreshing, listed: Map<string, Partner>): Promise<ShortLists> {
  const short = new Map<string, ShortList>();
  const onShort = (list: ShortList): void => void short.set('', list);
  for await (const page of service.partners(signal, onShort)) {
    for (const partner of page) listed.set(partner.id, partner);
  }
  return short;
}

async function replaceByList(
  run: Refreshing,
  listed: ReadonlyMap<string, Partner>,
  short: ShortLists,
): Promise<number> {
  const list = [...listed.values()].map((partner) => ({
    partner_id: partner.id,
    display_name: storable(partner.displayName),
    supports_cost_data: partner.supportsCostData,
  }));
  run.clock.check();
  return replacePartners(run.warehouse, run.planAt, async () => {
    const { warehouse } = run;
    await warehouse.run(statement('links/stage_partners'), [JSON.stringify(list)]);
    const at = timestamp(run.planAt);
    const lists = await warehouse.rows(statement('links/doubtful_partners'), [at], doubtfulList);
    const doubt = await doubtOf(warehouse, SUBJECT, lists, short);
    if (doubt !== null) {
      await warehouse.run(statement('links/miss_partners'), [at]);
      return doubt;
    }
    await recordBelieved(warehouse, SUBJECT.key, short, ONE_LIST);
    await warehouse.run(statement('links/stage_unlisted_partners'));
    return null;
  });
}

/**
 * Adds the partners that rows carry and the list lacks, and drops those that none carries any more; asks the service
 * nothing. Reads the rows loaded since the last run that succeeded, and all of them only for stored partners that are in
 * neither. Returns how many there are.
 */
export async function completePartners({
  warehouse,
  planAt,
}: Pick<Refreshing, 'warehouse' | 'planAt'>): Promise<{ readonly rows: number }> {
  const slices = (await readLiveSlices(warehouse)).filter((slice) => namesPartners(slice));
  const looked = slices.length === 0 ? [] : await warehouse.rows(statement('links/seen_loads'), [], seenRow);
  const seen = new Map(looked.map((row) => [row.slice, row.load_id]));
  const seenAt = looked.reduce<Date | null>((newest, { known_at: at }) => {
    return at !== null && (newest === null || at > newest) ? at : newest;
  }, null);
  const isNew = ({ slice }: LiveSlice): string => `s."_load_id" > ${seen.get(slice) ?? 0}`;
  const [stored] = await warehouse.rows(storedPartners(slices, isNew), [], storedRow);
  if (stored?.carried === false && stored.unlisted === 0) return { rows: stored.rows };
  const stage = async (): Promise<void> => {
    await warehouse.run(statement('links/stage_listed_partners'));
    if (slices.length === 0) return;
    await warehouse.run(stageCarried(slices, isNew, seenAt));
    const [left] = await warehouse.rows(statement('links/unseen_partners'), [], z.object({ partners: count }));
    if (left?.partners === 0) return;
    const unseen =
      'select partner_id from main.partners where partner_id not in (select partner_id from ripen.staged_partners)';
    await warehouse.run(stageCarried(slices, (slice) => `${rowIdSql(slice, 'partner_id')} in (${unseen})`, null));
  };
  const rows = await replacePartners(warehouse, planAt, async () => stage().then(() => null));
  return { rows };
}

const storedRow = z.object({ rows: count, unlisted: count, carried: z.boolean() });

/** How many partners are stored, how many of them no list has, and whether rows came that may carry others. */
function storedPartners(slices: readonly LiveSlice[], isNew: (slice: LiveSlice) => string): string {
  const carried = slices.map((slice) => `exists (select 1 from ${slice.table} as s where ${isNew(slice)})`);
  return `select
    count(*) as rows,
    count(*) filter (where not is_listed) as unlisted,
    ${['false', ...carried].join(' or ')} as carried
from main.partners`;
}

const seenRow = z.object({ slice: z.string(), load_id: count, known_at: instant.nullable() });

/** Puts the partners that `stage` stages in the place of the stored ones; throws the doubt that it returns, with what it recorded kept. */
async function replacePartners(
  warehouse: Warehouse,
  planAt: Date,
  stage: () => Promise<Failure | null>,
): Promise<number> {
  const replaced = await warehouse.transact(async () => {
    await warehouse.run(statement('links/forget_staged_partners'));
    const doubt = await stage();
    if (doubt !== null) {
      await warehouse.run(statement('links/forget_staged_partners'));
      return doubt;
    }
    const at = timestamp(await changeInstant(warehouse, planAt));
    await warehouse.run(statement('links/close_partner_versions'), [at]);
    await warehouse.run(statement('links/drop_empty_partner_versions'));
    await warehouse.run(statement('links/open_partner_versions'), [at]);
    await warehouse.run(statement('links/delete_partners'));
    await warehouse.run(statement('links/insert_partners'));
    await warehouse.run(statement('links/forget_staged_partners'));
    return storedRows(warehouse);
  });
  if (replaced instanceof Failure) throw replaced;
  return replaced;
}

async function storedRows(warehouse: Warehouse): Promise<number> {
  const [total] = await warehouse.rows('select count(*) as rows from main.partners', [], z.object({ rows: count }));
  return total?.rows ?? 0;
}

/**
 * The as-of instant, or just after a newer change: a repeated run of an older night must neither turn the history around nor end
 * a version where it began.
 */
async function changeInstant(warehouse: Warehouse, planAt: Date): Promise<Date> {
  const newest = (await changedAt(warehouse)) ?? planAt;
  return newest > planAt ? new Date(newest.getTime() + 1) : planAt;
}

/** When any partner changed last; null before the first refresh. */
async function changedAt(warehouse: Warehouse): Promise<Date | null> {
  const shape = z.object({ changed_at: instant.nullable() });
  const [newest] = await warehouse.rows(statement('links/partners_changed_at'), [], shape);
  return newest?.changed_at ?? null;
}

/**
 * Stages the partners that some rows carry and that are not staged, under the name of the answer among these rows that was
 * asked for last: a replay gives old answers new loads. A stored name gives way to none that was known before the rows that were
 * looked at earlier (at `seenAt`); an empty name is no name.
 */
function stageCarried(
  slices: readonly LiveSlice[],
  condition: (slice: LiveSlice) => string,
  seenAt: Date | null,
): string {
  const before = seenAt === null ? 'null' : `'${timestamp(seenAt)}'::timestamp`;
  const carried = slices.map((slice) => {
    const name = slice.columns.includes('partner_name') ? `nullif(s."partner_name", '')` : 'null::varchar';
    // Most rows say what others of their load say, and to read it takes several times as long as to tell them apart.
    const said = ['partner_id', 'partner_name', 'attr_dependency', '_load_id']
      .filter((column) => slice.columns.includes(column))
      .map((column) => `s.${identifier(column)}`);
    return `    select ${rowIdSql(slice, 'partner_id')} as partner_id, ${name} as partner_name, s."_load_id" as load_id
    from (select distinct ${said.join(', ')} from ${slice.table} as s where ${condition(slice)}) as s`;
  });
  return `insert into ripen.staged_partners
with carried as (
${carried.join('\n    union all\n')}
),
newest as (
    select
        partner_id,
        max(row(known_at, load_id, partner_name)) filter (where partner_name is not null) as named
    from (
        select c.*, coalesce(l.known_at, 'epoch'::timestamp) as known_at
        from carried as c
        left join ripen.loads as l on l.load_id = c.load_id
    )
    where partner_id is not null
    group by partner_id
)
select
    n.partner_id,
    coalesce(
        case when n.named[1] < ${before} then nullif(p.display_name, '') end, n.named[3], p.display_name, ''
    ) as display_name,
    null as supports_cost_data,
    false as is_listed
from newest as n
left join main.partners as p on p.partner_id = n.partner_id
where n.partner_id not in (select partner_id from ripen.staged_partners)`;
}
