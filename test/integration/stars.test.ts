/** Metrics that a slice names by `*`: a configuration file, an account that grows, and what each night makes of both. */

import { beforeEach, expect, test } from 'vitest';

import {
  check,
  plan,
  readConfig,
  replay,
  resolvedConfig,
  status,
  sync,
  type Config,
  type SyncSummary,
} from '../../src/index.ts';
import { day } from '../../src/model/calendar.ts';
import { withWarehouse } from '../../src/warehouse/opening.ts';
import { column, query, type Readable } from '../support/contents.ts';
import { gridOf, openAnswering } from '../support/answering.ts';
import { type AccountLists, startAccount } from '../support/grown-account.ts';
import { openInstallation, serviceAt, TOKEN, type Installation } from '../support/installation.ts';
import { textWith } from '../support/matching.ts';
import { json, type ScriptedServer } from '../support/scripted-server.ts';
import { slice } from '../support/slice.ts';

const FIRST = new Date('2026-06-01T02:30:00Z');
const night = (number: number): Date => new Date(FIRST.getTime() + number * 86_400_000);

let installation: Installation;
let server: ScriptedServer;
let lists: AccountLists;

beforeEach(async () => {
  installation = await openInstallation();
  lists = { apps: [], events: ['b_events', 'a_events', 'a_revenue'], ages: [] };
  server = await startAccount(lists);
});
async function configured(metrics: readonly string[], slice: object = {}): Promise<Config> {
  const daily = {
    name: 'daily',
    dimensions: ['day', 'app'],
    metrics,
    date_period: '2026-05-22:yesterday',
    ...slice,
  };
  const rest = {
    warehouse: 'w.duckdb',
    control: 'off',
    partners: false,
    archive: '30d',
    slices: [daily],
  };
  await installation.configure({ service: serviceAt(server.origin), ...rest });
  return readConfig({ directory: installation.directory, environment: { RIPEN_TOKEN: TOKEN } });
}

const syncOn = async (config: Config, number: number): Promise<SyncSummary> =>
  sync(config, { asOf: night(number) });

/** The messages of the failures of a night, all of them of a wrong configuration. */
async function refusalsOn(config: Config, number: number): Promise<string[]> {
  const { failures } = await syncOn(config, number);
  return failures.filter(({ code }) => code === 'CONFIG_INVALID').map(({ message }) => message);
}

const readable = ({ warehouse: path }: Config): Readable => ({
  inWarehouse: (use) => withWarehouse(path, { mode: 'read', lockWaitMs: 0, emit: () => {} }, use),
});

const metricColumns = async (config: Config): Promise<string[]> =>
  (await column(readable(config), 'select column_name from (describe daily)')).filter((name) =>
    /installs|_events$|_revenue$/.test(name),
  );

const messagesOf = async (config: Config, number: number): Promise<string> =>
  (await check(config, { asOf: night(number) }))
    .map(({ severity, message }) => `${severity}: ${message}`)
    .join('\n');

test('a star is the metrics that match; what is new is a column loaded for the whole coverage, what is listed no more stays', async () => {
  const config = await configured(['installs', '*_events']);
  expect(await messagesOf(config, 0)).toContain(
    'note: *_events stands for 2 metrics: a_events, b_events',
  );
  const resolved = async (): Promise<string> =>
    resolvedConfig({ directory: installation.directory, environment: { RIPEN_TOKEN: TOKEN } });
  expect(await resolved()).toContain('# what * stands for is known after the first sync\n');
  expect(await syncOn(config, 0)).toMatchObject({ status: 'succeeded', failures: [] });
  expect(await metricColumns(config)).toEqual(['installs', 'a_events', 'b_events']);
  expect(await resolved()).toContain(
    '    # *_events stands for 2 metrics: a_events, b_events\n    metrics: [ installs, "*_events" ]\n',
  );

  lists.events = ['a_events', 'c_events'];
  expect(await messagesOf(config, 1)).toContain('note: metrics were added (c_events): 11 periods');
  expect(await syncOn(config, 1)).toMatchObject({ status: 'succeeded', failures: [] });
  expect(await metricColumns(config)).toEqual(['installs', 'a_events', 'b_events', 'c_events']);
  const sums =
    'select count(*)::integer as days, sum(b_events)::integer as b, sum(c_events)::integer as c from daily';
  expect(await query(readable(config), sums)).toEqual([{ days: 11, b: 11, c: 11 }]);
  const warned = await column(
    readable(config),
    `select message from ripen.warnings where code = 'CATALOG_METRIC_GONE'`,
  );
  expect(warned.join()).toContain('b_events');

  expect(await resolved()).toContain(
    '# *_events stands for 3 metrics: a_events, b_events, c_events\n',
  );
  const [daily] = (await status(config, { asOf: night(1) })).slices;
  expect(daily?.metrics.map(({ metric }) => metric)).toEqual([
    'installs',
    'a_events',
    'b_events',
    'c_events',
  ]);
  expect(await replay(config, { asOf: night(1) })).toMatchObject({ failures: [] });
});

test('a star that matches nothing, or more than max_metrics allows, fails its slice alone and is an error of check and plan', async () => {
  const nothing = await configured(['installs', 'x_*']);
  const refusal = 'x_* matches no metric that filters-data lists';
  expect(await messagesOf(nothing, 0)).toContain(`error: ${refusal}`);
  expect(await refusalsOn(nothing, 0)).toEqual([
    `slice daily: ${refusal}. Readers have no data of daily yet.`,
  ]);
  await expect(plan(nothing, { asOf: night(1) })).rejects.toThrow(refusal);

  lists.events = Array.from({ length: 903 }, (_, number) => `e${number}_events`);
  const many = await configured(['installs', '*_events']);
  const tooMany = 'metrics, and at most 200 are allowed';
  expect(await messagesOf(many, 1)).toContain(
    `error: with what *_events stands for it has 904 ${tooMany}`,
  );
  // Those that matched the night before stay.
  expect(await refusalsOn(many, 1)).toEqual([
    `slice daily: with what *_events stands for it has 906 ${tooMany}. Readers have no data of daily yet.`,
  ]);
  const few = await configured(['installs', 'e1?_events', 'e2*_events'], { max_metrics: 2 });
  expect(await refusalsOn(few, 2)).toEqual([
    'slice daily: with what e2*_events stands for it has 113 metrics, and at most 2 are allowed. Readers have no data of daily yet.',
  ]);
});

test('of two metrics that differ by letter case alone the loaded one stays, else the one listed first; a warning names the other', async () => {
  lists.events = ['purchase_events'];
  const config = await configured(['installs', '*_events']);
  await syncOn(config, 0);
  const before = await query(readable(config), 'select day, purchase_events from daily');
  lists.events = ['Purchase_events', 'level_events', 'LEVEL_events', 'purchase_events'];
  const twins =
    'The patterns also match metrics that are not loaded: ' +
    'Purchase_events, which differs from purchase_events by letter case alone; ' +
    'LEVEL_events, which differs from level_events by letter case alone';
  expect(await messagesOf(config, 1)).toContain(`warning: ${twins}`);
  for (const number of [1, 2]) {
    expect(await syncOn(config, number)).toMatchObject({ status: 'succeeded', failures: [] });
    expect(await metricColumns(config)).toEqual(['installs', 'level_events', 'purchase_events']);
  }
  expect(await query(readable(config), 'select day, purchase_events from daily')).toEqual(
    expect.arrayContaining(before),
  );
  const warned = await column(
    readable(config),
    "select message from ripen.warnings where code = 'METRIC_CASE_TWIN'",
  );
  expect(warned).toEqual([`${twins}.`, `${twins}.`]);
  const [daily] = (await status(config, { asOf: night(2) })).slices;
  expect(daily?.metrics.map(({ metric }) => metric)).toEqual(await metricColumns(config));
});

test('a metric that only a star stands for, and that reports refuse by name, costs its slice no night and is told once; one that was loaded, or is stated, fails and loses no value', async () => {
  const config = await configured(['installs', '*_events']);
  const warned = async (): Promise<string[]> =>
    column(
      readable(config),
      "select message from ripen.warnings where code = 'METRIC_REFUSED' order by seen_at",
    );
  const reports = (): number =>
    server.received.filter(({ path }) => path.endsWith('/report')).length;
  expect(await syncOn(config, 0)).toMatchObject({ failures: [] });
  lists.events = ['a_events', 'b_events', 'new event_events'];
  lists.refused = ['new event_events'];
  expect(await syncOn(config, 1)).toMatchObject({ failures: [] });
  expect(await warned()).toEqual([textWith('lists new event_events, and refuses')]);
  const days = 'select count(*)::integer as days, count(a_events)::integer as a from daily';
  expect(await query(readable(config), days)).toEqual([{ days: 11, a: 11 }]);
  const planned = await plan(config, { asOf: night(2) });
  expect(planned.slices[0]?.reasons['metric added']).toBeUndefined();
  const before = reports();
  expect(await syncOn(config, 2)).toMatchObject({ failures: [] });
  expect(reports()).toBe(before + 1);
  expect(await metricColumns(config)).toEqual(['installs', 'a_events', 'b_events']);
  expect(await warned()).toHaveLength(1);
  const [daily] = (await status(config, { asOf: night(2) })).slices;
  expect(daily?.cells).toMatchObject({ expected: 36, 'not loaded': 0 });
  expect(await messagesOf(config, 2)).not.toContain('new event_events');

  lists.refused = ['new event_events', 'a_events'];
  const loaded = await syncOn(config, 3);
  expect(loaded.failures).toMatchObject([
    { code: 'SOURCE_REFUSED', hint: textWith('check --resolved') },
  ]);
  expect(await warned()).toHaveLength(1);
  expect(await query(readable(config), days)).toEqual([{ days: 12, a: 12 }]);

  const stated = await configured(['installs', 'a_events']);
  const { failures } = await syncOn(stated, 4);
  expect(failures.map(({ code }) => code)).toContain('SOURCE_REFUSED');
});

test.each([
  ['my a_events, whose name has that of another one in it, leaves out that one alone', false, []],
  [
    'my a_events among all that were requested costs the night, as each may be meant',
    true,
    ['SOURCE_REFUSED'],
  ],
])('a refusal that names %s', async (_, repeatsRequest, codes) => {
  const config = await configured(['installs', '*_events']);
  Object.assign(lists, {
    events: ['my a_events', 'a_events', 'b_events'],
    refused: ['my a_events'],
    repeatsRequest,
  });
  const { failures } = await syncOn(config, 0);
  expect(failures.map(({ code }) => code)).toEqual(codes);
  const loaded = repeatsRequest ? 0 : 10;
  const values = 'select count(a_events)::integer as a, count(b_events)::integer as b from daily';
  expect(await query(readable(config), values)).toEqual([{ a: loaded, b: loaded }]);
});

test.each([
  ['', undefined, []],
  [', also if its newest days fail', '2026-05-31', ['SOURCE_REFUSED']],
])(
  '2 metrics that reports refuse, one at a time, cost a first load of a year 1 request each%s',
  async (_, refusedDay, codes) => {
    const config = await configured(['installs', '*_events'], {
      date_period: '2025-06-01:yesterday',
    });
    Object.assign(lists, { refused: ['a_events', 'b_events'], refusedDay });
    const { failures } = await syncOn(config, 0);
    expect(failures.map(({ code }) => code)).toEqual(codes);
    const asked = server.received.filter(({ path }) => path.endsWith('/report'));
    const refused = asked.filter((report) => report.query.get('metrics')?.includes('_events'));
    expect([refused.length, asked.length > 5]).toEqual([2, true]);
  },
);

test('what is left of a slice whose metric is refused waits where it was, behind yesterday of every slice', async () => {
  const dates = ['2026-05-31', '2026-06-01', '2026-06-02'];
  const rows = gridOf(dates, { app_token: ['a'] }, ['installs', 'clicks']);
  const datePeriod = { first: { day: day('2026-05-31') }, last: { daysAgo: 1 } } as const;
  const dimensions = ['day', 'app_token'];
  const stated = slice({ name: 'starred', dimensions, metrics: ['installs'], datePeriod });
  const other = { ...stated, name: 'other', dimensions: ['day'], metrics: ['clicks'] };
  const world = await openAnswering([stated, other], rows);
  await world.night(2);
  const first = { day: day('2024-01-01') };
  const starred = { ...stated, metrics: ['installs', 'cl*'], datePeriod: { ...datePeriod, first } };
  const words = { error_desc: 'Unsupported metric: clicks.' };
  world.rewrite({ metric: 'clicks', part: 'undivided' }, () => json(words, { status: 400 }));
  world.asked = [];
  const service = { ...world.scenario.config.service, maxConcurrency: 1 };
  const night = { slices: [starred, other], config: { service } };
  expect((await world.night(3, night)).failures).toEqual([]);
  const asked = world.asked.map(({ metrics, lastDay }) => `${metrics.join()} to ${lastDay}`);
  expect(asked.slice(0, 4)).toEqual([
    'installs,clicks to 2026-06-02',
    'installs to 2026-06-02',
    'clicks to 2026-06-02',
    'installs to 2025-06-01',
  ]);
});

test('a value that rows carry of a metric that reports refuse is kept in _extra, and not stored as measured', async () => {
  const rows = gridOf(['2026-06-01'], { app_token: ['a'] }, ['installs', 'clicks']);
  const starred = slice({
    name: 'starred',
    dimensions: ['day', 'app_token'],
    metrics: ['installs', 'cl*'],
    datePeriod: { first: { day: day('2026-06-01') }, last: { daysAgo: 1 } },
  });
  const world = await openAnswering([starred], rows);
  world.rewrite({ part: 'undivided' }, (report, { metrics }) =>
    metrics.includes('clicks')
      ? json({ error_desc: 'Unsupported metric: clicks.' }, { status: 400 })
      : json({ ...report, rows: report.rows.map((row) => ({ ...row, clicks: '0' })) }),
  );
  expect((await world.night(2)).failures).toEqual([]);
  expect(await query(world.scenario, 'select clicks, _extra from starred')).toEqual([
    { clicks: null, _extra: '{"clicks":"0"}' },
  ]);
});
