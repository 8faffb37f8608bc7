/** Audits of a loaded night: what holds it back, what only warns, and what an audit cannot do. */

import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Audit, PublishTarget } from '../../src/config/config.ts';
import { exitCodeOf, Failure } from '../../src/errors.ts';
import type { RunEvent } from '../../src/events.ts';
import { check, type Finding, publish, readConfig, status, sync } from '../../src/index.ts';
import { askAudits, auditText } from '../../src/publish/audits.ts';
import { readStatus } from '../../src/report/status/status.ts';
import { explained } from '../../src/report/terminal/failure-text.ts';
import { withWarehouse } from '../../src/warehouse/opening.ts';
import { insertRows } from '../../src/warehouse/sql.ts';
import { column } from '../support/contents.ts';
import { ask } from '../support/sample-warehouse.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const daily = slice({
  name: 'daily',
  dimensions: ['day', 'app_token'],
  metrics: ['installs', 'cost', 'all_revenue_total_d7'],
  datePeriod: { first: { daysAgo: 14 }, last: { daysAgo: 1 } },
});
const [FIRST, SECOND, THIRD] = [
  new Date('2026-04-02T06:00:00Z'),
  new Date('2026-04-03T06:00:00Z'),
  new Date('2026-04-04T06:00:00Z'),
];
const MODE = 0o644;

const asking = (sql: string, onFail: Audit['onFail'] = 'hold'): Audit => ({
  name: 'asked',
  sql,
  onFail,
});

let scenario: Scenario;

beforeAll(async () => {
  scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  await scenario.night(FIRST);
});
afterAll(() => scenario.close());

describe('a held night', () => {
  let copies: Scenario;

  beforeEach(async () => {
    copies = await openScenario([daily], { simulator: { world: smallWorld } });
  });
  afterEach(() => copies.close());

  test('is not published to any kind of copy, ends with 65 and names the first rows; the next good night is', async () => {
    const path = (...names: string[]): string => join(copies.directory, ...names);
    const targets: PublishTarget[] = [
      { kind: 'duckdb', path: path('analytics.duckdb'), mode: MODE },
      { kind: 'delta', path: path('tables'), mode: MODE, keepMs: 0, columnMapping: false },
      { kind: 'parquet', path: path('lake'), mode: MODE },
    ];
    const readers = [
      async (what: string) => ask(path('analytics.duckdb'), `select ${what} from daily`),
      async (what: string) => ask(path('tables', 'catalog.duckdb'), `select ${what} from daily`),
      async (what: string) =>
        ask(':memory:', `select ${what} from '${path('lake', 'daily', '*.parquet')}'`),
    ];
    const newest = async (): Promise<unknown[]> => {
      const days: unknown[] = [];
      for (const read of readers)
        days.push((await read('max(day)::varchar as newest'))[0]?.['newest']);
      return days;
    };
    const audit = (day: string): Audit[] => [
      asking(`select day, sum(installs) as installs from daily where day = '${day}' group by day;`),
      { ...asking(`from daily limit 7`, 'warn'), name: 'noted' },
    ];
    await copies.night(FIRST, { publish: targets });
    expect(await newest()).toEqual(Array(3).fill('2026-04-01'));
    const held = await copies.night(SECOND, { publish: targets, audits: audit('2026-04-02') });
    expect(held.published).toEqual([]);
    expect(held.status).toBe('partial');
    expect(exitCodeOf(held.failures.map(({ code }) => ({ code })))).toBe(65);
    const [failure] = held.failures;
    expect(failure?.code).toBe('AUDIT_HELD');
    expect(failure?.message).toMatch(
      /^The audit asked returned 1 row: \{"day":"2026-04-02","installs":"\d+"\}$/,
    );
    expect(held.audits.map(({ name, rows, first }) => [name, rows, first.length])).toEqual([
      ['asked', 1, 1],
      ['noted', 7, 5],
    ]);
    expect(await newest()).toEqual(Array(3).fill('2026-04-01'));
    expect(existsSync(`${copies.config.warehouse}.audit`)).toBe(false);
    const config = { ...copies.config, publish: targets };
    const before = await status(config, { asOf: SECOND });
    const [told] = await explained(held.failures, config, before, held.run_id);
    expect(told?.message).toMatch(/ Readers keep the good data of the night of 2026-04-02\.$/);
    const byHand = await publish({ ...config, audits: audit('2026-04-02') });
    expect(byHand.failures.map(({ code }) => code)).toEqual(['AUDIT_HELD']);
    expect(await newest()).toEqual(Array(3).fill('2026-04-01'));
    const report = await status(config, { asOf: SECOND });
    expect(report.health.state).toBe('failed');
    const findings = report.health.findings.map(({ message }) => message);
    expect(findings).toContainEqual(expect.stringMatching(/^AUDIT_HELD: The audit asked/));
    expect(findings).toContainEqual(expect.stringMatching(/^The audit noted returned 7 rows: /));
    const place = join(copies.directory, 'foreign.duckdb');
    await writeFile(place, 'not a database');
    const foreign = { ...config, publish: [{ kind: 'duckdb', path: place, mode: MODE } as const] };
    expect((await publish(foreign)).published).toEqual([]);
    expect((await status(config, { asOf: SECOND })).health.state).toBe('failed');
    // A killed publish leaves no more than its number.
    const writing = { mode: 'write', lockWaitMs: 0, emit: () => {} } as const;
    await withWarehouse(config.warehouse, writing, async (warehouse) =>
      insertRows(warehouse, 'ripen_internal.publishes', [{ number: 9, published_at: new Date() }]),
    );
    expect((await publish({ ...config, publish: targets.slice(0, 1) })).failures).toEqual([]);
    const { headline } = (await status(config, { asOf: SECOND })).health;
    expect(headline).toMatch(/ was held back by an audit\.$/);
    const lifted = await publish({ ...config, audits: audit('2026-04-09') });
    expect(lifted.failures).toEqual([]);
    expect(await newest()).toEqual(Array(3).fill('2026-04-02'));
    const { health } = await status(config, { asOf: SECOND });
    expect(health.findings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^The audit noted returned 7 rows: /),
    ]);
    expect(health.headline).toMatch(/ was held back by an audit, and published later\.$/);
    const good = await copies.night(THIRD, { publish: targets, audits: audit('2026-04-09') });
    expect(good.failures).toEqual([]);
    expect(await newest()).toEqual(Array(3).fill('2026-04-03'));
    const copy = await ask(
      path('analytics.duckdb'),
      `select summary ->> '$.audits[0].name' as audit from ripen.runs order by run_number desc limit 1`,
    );
    expect(copy).toEqual([{ audit: 'noted' }]);
  }, 60_000);
});

describe('a copy that a sync failed to write', () => {
  test('is a failure until a later publish writes that copy, or it is no longer configured, and stays one in the history', async () => {
    const copies = await openScenario([daily], { simulator: { world: smallWorld } });
    const [place, other] = [join(copies.directory, 'a'), join(copies.directory, 'b')];
    const target = (path: string): PublishTarget => ({ kind: 'duckdb', path, mode: MODE });
    const targets = [target(place), target(other)];
    const config = { ...copies.config, publish: targets };
    const judged = async (
      path = config.warehouse,
      snapshot: string | null = null,
      left: readonly PublishTarget[] = targets,
    ) => {
      const opening = { mode: 'read', lockWaitMs: 0, emit: () => {} } as const;
      const { runs, health } = await withWarehouse(path, opening, async (warehouse) =>
        readStatus({ ...config, publish: left }, warehouse, FIRST, snapshot),
      );
      return [health.state, health.headline, runs[0]?.failures[0]?.code];
    };
    await writeFile(other, 'not a database');
    const night = await copies.night(FIRST, { publish: targets });
    expect(night.failures).toMatchObject([{ code: 'WAREHOUSE_FOREIGN', target: other }]);
    const failed = 'The last sync, as of 2026-04-02 06:00 UTC, ended with 1 failure';
    expect(await judged()).toEqual(['failed', `${failed}.`, 'WAREHOUSE_FOREIGN']);
    expect((await publish(config)).published).toMatchObject([{ path: place }]);
    expect(await judged()).toEqual(['failed', `${failed}.`, 'WAREHOUSE_FOREIGN']);
    const well = `All is well. ${failed}, since resolved.`;
    for (const left of [targets.slice(0, 1), []])
      expect(await judged(config.warehouse, null, left)).toEqual([
        'well',
        well,
        'WAREHOUSE_FOREIGN',
      ]);
    await rm(other);
    expect((await publish(config)).published).toHaveLength(2);
    expect(await judged()).toEqual(['well', well, 'WAREHOUSE_FOREIGN']);
    expect(await judged(other, other)).toEqual(await judged());
    await copies.close();
  }, 60_000);
});

test('a sync that was killed while it published did not finish until every copy is published', async () => {
  const copies = await openScenario([daily], { simulator: { world: smallWorld } });
  const targets = ['a', 'b'].map((name): PublishTarget => {
    return { kind: 'duckdb', path: join(copies.directory, name), mode: MODE };
  });
  const config = { ...copies.config, publish: targets };
  const judged = async (): Promise<unknown[]> => {
    const { health, runs } = await status(config, { asOf: FIRST });
    return [health.state, health.headline, runs[0]?.finished_at];
  };
  const change = async (what: string): Promise<void> => {
    const opening = { mode: 'write', lockWaitMs: 0, emit: () => {} } as const;
    await withWarehouse(config.warehouse, opening, async (warehouse) =>
      warehouse.run(`update ${what}`),
    );
  };
  expect((await copies.night(FIRST, { publish: targets })).failures).toEqual([]);
  await change(`ripen.runs set finished_at = null, exit_code = null, status = 'running'`);
  await change('ripen_internal.publishes set copies = null');
  const last = 'The last sync, as of 2026-04-02 06:00 UTC,';
  expect(await judged()).toEqual(['failed', `${last} did not finish.`, null]);
  await publish({ ...config, publish: targets.slice(0, 1) });
  expect(await judged()).toEqual(['failed', `${last} did not finish.`, null]);
  await publish(config);
  expect(await judged()).toEqual(['well', `All is well. ${last} succeeded.`, null]);
  await change('ripen.runs set summary = null');
  expect(await judged()).toEqual(['failed', `${last} did not finish.`, null]);
  await copies.close();
}, 60_000);

describe('an audit', () => {
  const other = slice({ ...daily, name: 'later' });
  const answerTo = async (sql: string, limitMs?: number, slices = [daily, other]) => {
    return scenario.inWarehouse(async (warehouse) => {
      const config = { audits: [asking(sql)], slices };
      const signal = AbortSignal.timeout(60_000);
      const [result] = await askAudits(config, warehouse, signal, limitMs);
      if (result === undefined) throw new Error('an audit has a result');
      return result;
    });
  };

  test('that returns no row passes, by the names of a snapshot', async () => {
    for (const sql of [
      "from daily_final where day < '2020-01-01'",
      'select * from daily_projected where projected < 0 -- never',
      "select * from ripen.finality where slice = 'none' ;\n",
      'with empty as (select 1 as one where false) select * from empty',
    ])
      expect(await answerTo(sql)).toMatchObject({ rows: 0, reason: null });
  });

  test('of a slice that is not loaded yet passes and says so', async () => {
    for (const sql of ['from later', 'select installs from later_final']) {
      const result = await answerTo(sql);
      expect(auditText(result)).toBe('The audit asked: slice later is not loaded yet.');
    }
  });

  test('of a column that is configured and not loaded yet passes and says so', async () => {
    const wider = { ...daily, metrics: [...daily.metrics, 'clicks'] };
    const later = slice({ ...daily, name: 'later', metrics: ['impressions'] });
    for (const [sql, reason] of [
      ['select sum(Clicks) from daily', 'slice daily has no column clicks yet'],
      ['select d.clicks from daily as d', 'slice daily has no column clicks yet'],
      ['from LATER', 'slice later is not loaded yet'],
    ] as const) {
      const waiting = await answerTo(sql, undefined, [wider, later]);
      expect(waiting).toMatchObject({ rows: 0, reason });
    }
    const wrong = await answerTo('from DAILY where impressions < 0', undefined, [wider, later]);
    expect(wrong.rows).toBeNull();
    expect(wrong.reason).toMatch(/"impressions" not found/);
  });

  test('shows values that JSON has no word for, in at most 256 MB', async () => {
    const sql = `select 'infinity'::double as large, 'nan'::double as none, null as empty, value as memory
      from duckdb_settings() where name = 'memory_limit'`;
    expect((await answerTo(sql)).first).toEqual([
      { large: 'inf', none: 'nan', empty: null, memory: '244.1 MiB' },
    ]);
  });

  test.each(['name', 'sql'] as const)(
    'ends with the reason of a signal that comes when its %s is read, and leaves nothing',
    async (key) => {
      const stop = new AbortController();
      const endless = 'with recursive n as (select 1 as i union all select i from n) from n';
      const audit = asking(key === 'name' ? endless : 'select 1');
      const audits = [
        new Proxy(audit, {
          get(of, read: keyof Audit) {
            if (read === key) stop.abort(new Error('stopped'));
            return of[read];
          },
        }),
      ];
      await scenario.inWarehouse(async (warehouse) => {
        const asked = askAudits({ audits, slices: [daily] }, warehouse, stop.signal);
        await expect(asked).rejects.toThrow('stopped');
      });
      expect(existsSync(`${scenario.config.warehouse}.audit`)).toBe(false);
    },
    20_000,
  );

  test('leaves no copy of a killed run behind, even if none is configured any more', async () => {
    const copy = `${scenario.config.warehouse}.audit`;
    await writeFile(copy, 'left');
    await publish(scenario.config);
    expect(existsSync(copy)).toBe(false);
  });

  test.each([
    ['warn', []],
    ['hold', ['STORAGE_FAILED']],
  ] as const)('that may %s and cannot be copied', async (onFail, codes) => {
    const node = process.execPath;
    const lake = { kind: 'parquet', path: join(scenario.directory, onFail), mode: MODE } as const;
    const config = { ...scenario.config, publish: [lake], audits: [asking('select 1', onFail)] };
    const warnings: string[] = [];
    const emit = (event: RunEvent): void => {
      if (event.type === 'warning') warnings.push(`${event.code}: ${event.message}`);
    };
    process.execPath = '/bin/false';
    const done = publish(config, { emit }).then(
      ({ failures }) => failures,
      (failure: unknown) => (failure instanceof Failure ? [failure] : []),
    );
    const failures = await done.finally(() => (process.execPath = node));
    expect(failures.map(({ code }) => code)).toEqual(codes);
    expect(existsSync(lake.path)).toBe(onFail === 'warn');
    const told = 'AUDIT_FAILED: The audits could not be asked: The file ';
    expect(warnings.map((text) => text.slice(0, told.length))).toEqual(
      onFail === 'warn' ? [told] : [],
    );
  });

  test('with a mistake, a write, a setting, a file or an address is told and does nothing', async () => {
    const wrong = [
      ['selec 1', /syntax error at or near "1" \(line 1, column 7\)/],
      ['select installs,\n  instals from daily', /"instals" not found.*\(line 2, column 3\)/],
      ['from dayly', /Table with name dayly does not exist/],
      ['select 1; select 2', /syntax error/],
      ['insert into daily select * from daily', /syntax error/],
      ['select 1) as x; drop table daily; --', /./],
      ['set enable_external_access = true', /syntax error/],
      ["from read_text('/etc/hostname')", /disabled/i],
      ["from '/etc/hostname.csv'", /does not exist|disabled/i],
      ["from read_csv('http://127.0.0.1:9/x.csv')", /disabled/i],
      ["attach 'other.duckdb'", /syntax error/],
      ["from glob('/etc/*')", /disabled/i],
    ] as const;
    const before = await column(scenario, 'select count(*) from daily');
    const results = await scenario.inWarehouse((warehouse) =>
      askAudits(
        { audits: wrong.map(([sql]) => asking(sql)), slices: [daily, other] },
        warehouse,
        AbortSignal.timeout(60_000),
      ),
    );
    for (const [at, [sql, words]] of wrong.entries()) {
      const result = results[at];
      if (result === undefined) throw new Error('an audit has a result');
      expect(result.rows, sql).toBeNull();
      expect(result.reason, sql).toMatch(words);
      expect(auditText(result)).toMatch(/^The audit asked could not be answered: /);
    }
    expect(await column(scenario, 'select count(*) from daily')).toEqual(before);
  });

  test('without an end is stopped at the limit', async () => {
    const result = await answerTo(
      'with recursive n as (select 1 as i union all select i + 1 from n) select max(i) from n',
      500,
    );
    expect(result).toMatchObject({ rows: null, reason: 'it took longer than 0.5 s' });
  });

  test('with ten million rows is counted and shows five', async () => {
    const result = await answerTo('from range(10_000_000)');
    expect(result.rows).toBe(10_000_000);
    expect(result.first).toEqual([0, 1, 2, 3, 4].map((range) => ({ range: `${range}` })));
    expect(auditText(result)).toMatch(
      /^The audit asked returned 10000000 rows: \{"range":"0"\}.*, …$/,
    );
  });
});

describe('check', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ripen-audits-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  test('prepares each audit and says where it is wrong, before and after the first night', async () => {
    const file = join(directory, 'ripen.yaml');
    await writeFile(
      file,
      `service: { simulator: { rows_per_day: 10 } }
warehouse: ${join(directory, 'warehouse.duckdb')}
audits:
  - name: fine
    sql: select * from ripen.loads where rows_fetched < 0
  - name: waiting
    sql: from daily_final
  - name: wrong
    sql: |
      select 1
      fro daily
slices:
  - { name: daily, dimensions: [day], metrics: [installs], date_period: -3d:yesterday }
`,
    );
    const config = await readConfig({ directory, file, environment: {} });
    const findingsOfAudits = async (): Promise<readonly Finding[]> =>
      (await check({ directory, file, environment: {} })).filter(({ message }) =>
        /^(?:\d+ )?audits? /.test(message),
      );
    const lines = (findings: readonly Finding[]): string[] =>
      findings.map(({ severity, message }) => `${severity}: ${message}`);
    const wrong =
      'error: audit wrong: Parser Error: syntax error at or near "daily" (line 2, column 5)';
    const first = await findingsOfAudits();
    expect(lines(first)).toEqual([
      'works: 1 audit prepared',
      'note: audit waiting: slice daily is not loaded yet',
      wrong,
    ]);
    expect(first.at(-1)?.place).toMatch(/ripen\.yaml:9:\d+$/);
    expect(await readdir(directory)).toEqual(['ripen.yaml']);
    expect((await sync(config)).failures).toEqual([]);
    expect(lines(await findingsOfAudits())).toEqual(['works: 2 audits prepared', wrong]);
    expect(config.audits.map(({ onFail }) => onFail)).toEqual(['warn', 'warn', 'warn']);
    // Audits are asked of a copy, for which no disk has room.
    await truncate(config.warehouse, 15e12);
    const all = await check({ directory, file, environment: {} });
    expect(lines(all)).toContainEqual(expect.stringMatching(/ free; a run needs 1500\d GB$/));
  });
});
