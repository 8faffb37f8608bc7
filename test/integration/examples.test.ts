/** The queries analysts are given, in sql/examples and on the pages, asked of what two nights of the demo loaded. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';

import type { Config } from '../../src/config/config.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { utcOffset } from '../../src/model/calendar.ts';
import type { Slice } from '../../src/model/slice.ts';
import { askAudits } from '../../src/publish/audits.ts';
import { readStatus } from '../../src/report/status/status.ts';
import { withWarehouse } from '../../src/warehouse/opening.ts';
import { statement } from '../../src/warehouse/sql.ts';
import { column } from '../support/contents.ts';
import { storeRows } from '../support/ledger-rows.ts';
import { smallWorld } from '../support/night.ts';
import { openSample, rowsOf } from '../support/sample-warehouse.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const root = new URL('../../', import.meta.url);
const examples = readdirSync(new URL('sql/examples/', root)).map((file) =>
  file.replace(/\.sql$/, ''),
);

/** The queries of the pages, but those for another engine, which say so at first. */
const queries = ['README.md', 'docs/reading.md'].flatMap((page) =>
  [...readFileSync(new URL(page, root), 'utf8').matchAll(/```sql\n([\s\S]*?)```/g)]
    .map(([, sql = '']) => [page, sql] as const)
    .filter(([, sql]) => !sql.startsWith('-- ClickHouse')),
);

const DAYS = 61;

/** Queries that look for something wrong, of which a sound world has none. */
const mayBeEmpty: ReadonlySet<string> = new Set([
  'spend_without_installs',
  'moved_since_monday',
  'news_since_monday',
]);

const anyRow = z.record(z.string(), z.unknown());

let demo: Config;
let daily: Slice;
let scenario: Scenario;

beforeAll(async () => {
  const directory = fileURLToPath(root);
  demo = await readConfig({
    file: fileURLToPath(new URL('config/demo.yaml', root)),
    directory,
    environment: {},
  });
  const [first] = demo.slices;
  if (first === undefined) throw new Error('the demo has no slice');
  daily = first;
  scenario = await openScenario(demo.slices);
  const { partners, links } = demo;
  for (const night of ['2026-06-01T10:30:00Z', '2026-06-02T10:30:00Z']) {
    await scenario.night(new Date(night), { partners, links });
  }
});

afterAll(() => scenario.close());

async function answerTo(sql: string): Promise<Readonly<Record<string, unknown>>[]> {
  return scenario.inWarehouse((warehouse) => warehouse.rows(sql, [], anyRow));
}

test.each(examples)(
  "the analyst's query %s runs on what two nights of the demo loaded",
  async (name) => {
    const rows = await answerTo(statement(`examples/${name}`));
    expect(rows.length > 0 || mayBeEmpty.has(name) || name.startsWith('audit_')).toBe(true);
    for (const row of rows) expect(Object.values(row).some((value) => value !== null)).toBe(true);
  },
);

test('each audit among them can be asked before a night is published', async () => {
  const audits = examples
    .filter((name) => name.startsWith('audit_'))
    .map((name) => ({ name, sql: statement(`examples/${name}`), onFail: 'hold' as const }));
  expect(audits).toHaveLength(6);
  const results = await scenario.inWarehouse(async (warehouse) =>
    askAudits({ audits, slices: [daily] }, warehouse, AbortSignal.timeout(60_000)),
  );
  expect(results.map(({ reason }) => reason)).toEqual(audits.map(() => null));
});

test('the audit of late slices tells only of those that are still fetched', async () => {
  const sample = await openSample(1, 1);
  onTestFinished(async () => sample.close());
  const of = { load_id: 1, rows: 1 };
  const slices = [
    { slice: 'newest', start_day: '2026-02-20', fetched_at: '2026-02-21 02:30:00', ...of },
    { slice: 'late', start_day: '2026-02-12', fetched_at: '2026-02-18 02:30:00', ...of },
    { slice: 'left', start_day: '2026-01-12', fetched_at: '2026-01-18 02:30:00', ...of },
  ];
  const asOf = '2026-02-21 02:30:00';
  await storeRows(sample.warehouse, 'ripen.runs', { run_id: 'run', started_at: asOf });
  for (const { slice: name } of slices)
    await storeRows(sample.warehouse, 'ripen.slice_tables', { slice: name });
  await storeRows(sample.warehouse, 'ripen.periods', ...slices);
  const rows = await rowsOf(sample.warehouse, statement('examples/audit_late_slice'));
  expect(rows).toEqual([{ slice: 'late', last_day: '2026-02-12' }]);
});

test.each(['docs/operations.md', 'config/example.yaml', 'config/first.yaml'])(
  'the audits of %s can be asked, and one that may hold speaks of new days only',
  async (page) => {
    const text = readFileSync(new URL(page, root), 'utf8').replaceAll(/^# ?/gm, '');
    const [block = ''] = /^audits:.*\n(?: +.*\n)+/m.exec(text) ?? [];
    const shape = z.object({ name: z.string(), sql: z.string(), on_fail: z.string().optional() });
    const { audits } = z.object({ audits: z.array(shape) }).parse(parse(block));
    const results = await scenario.inWarehouse(async (warehouse) =>
      askAudits(
        { audits: audits.map((audit) => ({ ...audit, onFail: 'warn' })), slices: [daily] },
        warehouse,
        AbortSignal.timeout(60_000),
      ),
    );
    expect(results.map(({ reason }) => reason)).toEqual(audits.map(() => null));
    const holding = audits.filter(({ on_fail: onFail }) => onFail === 'hold');
    expect(holding.map(({ sql }) => sql)).toEqual([
      expect.stringContaining('where day > (select max(day) - 7 from network_daily)'),
    ]);
  },
);

test.each(queries)(
  'a query of %s runs on what two nights of the demo loaded: %s',
  async (_, sql) => {
    expect((await answerTo(sql.trim().replace(/;$/, ''))).length).toBeGreaterThan(0);
  },
);

test('the status tells of each metric as many final days as the ledger has, and the rest as maturing', async () => {
  const asOf = new Date('2026-06-02T10:30:00Z');
  const counts = z.object({ metric: z.string(), days: z.coerce.number() });
  const { report, final: finalDays } = await scenario.inWarehouse(async (warehouse) => ({
    report: await readStatus(scenario.config, warehouse, asOf),
    final: await warehouse.rows(
      `select metric, count(*) filter (where is_final)::varchar as days from ripen.finality
       where slice = 'network_daily' group by metric`,
      [],
      counts,
    ),
  }));
  const [status] = report.slices;
  expect(status?.metrics.map(({ metric }) => metric)).toStrictEqual(daily.metrics);
  for (const { metric, cells } of status?.metrics ?? []) {
    const days = finalDays.find((each) => each.metric === metric)?.days;
    expect([metric, cells.final, cells.maturing]).toStrictEqual([metric, days, DAYS - (days ?? 0)]);
  }
  expect(status?.restated.length).toBeGreaterThan(5);
  expect(report.runs).toMatchObject([{ retries: 0, failures: [] }, { status: 'succeeded' }]);
  expect(report.health.state).toBe('well');
});

test('the status has spend and revenue of the newest 60 days, what is final of them, and the projections of the view', async () => {
  const asOf = new Date('2026-06-02T10:30:00Z');
  const { warehouse: path } = scenario.config;
  const opening = { mode: 'write', lockWaitMs: 0, emit: () => {} } as const;
  const { report, shown } = await withWarehouse(path, opening, async (warehouse) => {
    await warehouse.run(
      `insert into ripen_internal.projections by name
       select slice, period, metric, load_id, 2 as factor, 1.5 as factor_low, 3 as factor_high
       from ripen_internal.maturing where slice = 'network_daily' and metric = 'cost'`,
    );
    return {
      report: await readStatus(scenario.config, warehouse, asOf),
      shown: await warehouse.rows(
        `select d.day::varchar as first_day, sum(d.cost)::double as value, bool_and(f.is_final) as is_final,
            any_value(p.projected) as projected, any_value(p.low) as low, any_value(p.high) as high
         from network_daily as d
         join ripen.finality as f on f.slice = 'network_daily' and f.metric = 'cost' and f.period = d.day
         left join (select day, sum(projected) as projected, sum(low) as low, sum(high) as high
            from network_daily_projected where metric = 'cost' group by day) as p on p.day = d.day
         group by d.day order by d.day desc limit 60`,
        [],
        anyRow,
      ),
    };
  });
  const [spend, revenue] = report.slices[0]?.money ?? [];
  expect(spend).toMatchObject({ flow: 'spend', metric: 'cost', currency: 'USD' });
  expect(revenue).toMatchObject({ flow: 'revenue', metric: 'all_revenue_total_d7' });
  const rounded = (rows: readonly object[] = []): string[] =>
    rows.map((row) =>
      JSON.stringify(row, (_, value: unknown) =>
        typeof value === 'number' ? value.toFixed(3) : value,
      ),
    );
  expect(rounded(spend?.periods)).toStrictEqual(rounded(shown.toReversed()));
  expect(spend?.periods.filter((period) => period.is_final)).toHaveLength(46);
  expect(spend?.periods.filter(({ projected }) => projected !== null)).toHaveLength(14);
});

test.each([
  ['+14:00', '2026-05-31T10:30:00Z', '2026-06-01T10:30:00Z'],
  ['-12:00', '2026-06-01T12:30:00Z', '2026-06-02T12:30:00Z'],
] as const)(
  'totals of days in %s that a second night moved, from %s to %s, are those of full days after their end: the youngest of 1',
  async (offset, first, second) => {
    const given = {
      name: 'network_daily',
      dimensions: ['day', 'app_token'],
      metrics: ['installs', 'cost'],
      datePeriod: { first: { daysAgo: 12 }, last: { daysAgo: 1 } },
    } as const;
    const moved = slice({ ...given, utcOffset: utcOffset(offset), refresh: 'nightly' });
    const scenario = await openScenario([moved], { simulator: { world: smallWorld } });
    for (const night of [first, second]) await scenario.night(new Date(night));
    const ages = await column(
      scenario,
      `select min(age_days) from (${statement('examples/moved_by_age')})`,
    );
    expect(ages).toEqual(['1']);
  },
);
