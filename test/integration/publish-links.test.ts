/** `<slice>_links` as Delta table: equal to the view after every change, and written again only where a row may have another link. */

import { array, assert, asyncProperty, constant, constantFrom, oneof, record } from 'fast-check';
import { beforeEach, expect, test } from 'vitest';

import { refreshJoins } from '../../src/links/joins.ts';
import { readDelta, readLog, sortedRows } from '../support/delta-reader.ts';
import { reload, restate } from '../support/ledger-nights.ts';
import { openSample, rowsOf, type Sample } from '../support/sample-warehouse.ts';

let sample: Sample;
/** Names of which one may fit another, as an id in brackets may follow a name. */
const campaigns = ['A', 'A (1)', 'A (1) (2)', 'B', 'unknown', ''];
const TABLE = 'network_daily_links';

beforeEach(async () => {
  sample = await openSample(4, 12);
  await run(`alter table main.network_daily add column campaign varchar`);
  await run(`update main.network_daily set
    network = if(day = DATE '2026-01-02', 'Second day', 'Each day'),
    campaign = (${JSON.stringify(campaigns).replaceAll('"', "'")})[1 + (installs // 3) % ${campaigns.length}],
    attr_dependency = if((installs // 3) % 4 = 0, '{}', '{"campaign_id_network":["1"]}')`);
  await run(`insert into ripen.link_crawls by name
    select 'app' || i as app_token, now()::timestamp as crawled_at, 2 as max_level, 1 as links, 0 as removed, 1 as requests, 'run' as run_id
    from range(3) as t(i)`);
  await run(`insert into main.partners by name select 'p' as partner_id, 'Partner' as display_name, true as is_listed`);
  await link({ token: 'each', network: 'Each day', campaign: null });
  await refreshJoins(sample.warehouse);
  await publish();
});

const run = async (sql: string): Promise<void> => void (await sample.warehouse.run(sql));
const publish = async (): Promise<unknown> =>
  sample.publish([{ kind: 'delta', path: sample.path('tables'), mode: 0o644, keepMs: 0 }]);

interface Link {
  readonly token: string;
  readonly network: string;
  readonly campaign: string | null;
}

/** Adds a version of a link, which ends the one before it. */
async function link({ token, network, campaign }: Link, from = '2026-01-01'): Promise<void> {
  const at = `timestamp '${from}'`;
  await run(`update main.links_history set valid_to = ${at} where token = '${token}' and valid_to is null`);
  const names = campaign === null ? [network] : [network, campaign];
  await run(
    `insert into main.links_history by name select '${token}' as token, 'app1' as app_token, '${token}' as root_token,
       ${names.length} as level, '${names.join('::')}' as name, '${names.at(-1) ?? ''}' as label, false as archived,
       false as has_subtrackers, 'p' as partner_id, false as cost_data_enabled, '${network}' as network_name,
       ${campaign === null ? 'null' : `'${campaign}'`} as campaign_name, ${at} as valid_from`,
  );
}

/** Publishes after a change, compares every row, and returns the days whose files were written. */
async function daysWritten(change: () => Promise<void>): Promise<string[]> {
  const at = `${sample.path('tables')}/${TABLE}`;
  const filesNow = async (): Promise<string[]> => (await readLog(at)).files.map(({ path }) => path);
  const before = new Set(await filesNow());
  await change();
  await publish();
  const inWarehouse = await rowsOf(sample.warehouse, `select * exclude (_load_id) from main.${TABLE}`);
  expect(await readDelta(at)).toEqual(sortedRows(inWarehouse));
  const written = (await filesNow()).filter((path) => !before.has(path));
  return written.map((path) => /day=([^/]+)/.exec(path)?.[1] ?? '').sort();
}

test('a changed link or load writes the days whose rows it touches, and those alone', async () => {
  const days = ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04'];
  expect(await daysWritten(async () => {})).toEqual([]);
  expect(await daysWritten(async () => reload(sample.warehouse, '2026-01-03'))).toEqual([]);
  expect(await daysWritten(async () => restate(sample.warehouse, '2026-01-03', 12))).toEqual(['2026-01-03']);
  const second = { token: 'second', network: 'Second day', campaign: null };
  expect(await daysWritten(async () => link(second))).toEqual(['2026-01-02']);
  expect(await daysWritten(async () => link({ ...second, token: 'b', campaign: 'B' }))).toEqual(['2026-01-02']);
  expect(await daysWritten(async () => link({ ...second, token: 'c', campaign: 'C' }))).toEqual([]);
  expect(await daysWritten(async () => link({ token: 'other', network: 'No day', campaign: null }))).toEqual([]);
  const rename = `update main.partners set display_name = 'Partner, renamed'`;
  expect(await daysWritten(async () => run(rename))).toEqual(days);
});

test('no order of changes leaves another row than the view has', async () => {
  const version = record({
    token: constantFrom('each', 'v', 'w'),
    network: constantFrom('Each day', 'Second day'),
    campaign: oneof(constant(null), constantFrom(...campaigns)),
  });
  const froms = constantFrom('2026-01-01', '2026-01-02', '2026-01-03 12:00');
  const change = oneof(
    record({ version, from: froms }).map(
      ({ version: changed, from }) =>
        async () =>
          link(changed, from),
    ),
    constantFrom('2026-01-02', '2026-01-04').map((day) => async () => restate(sample.warehouse, day, 1)),
    constant(async () => run(`update ripen.link_crawls set max_level = 3 - max_level`)),
  );
  await assert(
    asyncProperty(array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      await daysWritten(async () => {
        for (const each of changes) await each();
      });
    }),
    { numRuns: 6 },
  );
});
