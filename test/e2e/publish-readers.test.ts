/** Analysts who open and query every published copy without pause while nights sync and publish. */

import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { addDays, day } from '../../src/model/calendar.ts';
import { startAnalysts, type Question } from '../support/analysts.ts';
import { query } from '../support/contents.ts';
import { smallWorld } from '../support/night.ts';
import { openScenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

/** Analysts, and nights; `npm run test:readers` lets 100 read through 10. */
const READERS = Number(process.env['RIPEN_READERS'] ?? '12');
const NIGHTS = Number(process.env['RIPEN_NIGHTS'] ?? '2');

const FIRST_NIGHT = day('2026-03-15');
const metrics = ['installs', 'cost', 'all_revenue_total_d7'];
const datePeriod = { first: { day: day('2026-02-20') }, last: { daysAgo: 1 } } as const;
const slices = [
  slice({
    name: 'network_daily',
    dimensions: ['day', 'app_token', 'network'],
    metrics,
    datePeriod,
    refresh: 'nightly',
  }),
  slice({ name: 'app_daily', dimensions: ['day', 'app_token'], metrics, datePeriod, refresh: 'nightly' }),
];

/** What a slice holds altogether, and of each day. */
const whole = (from: string): string =>
  `select count(*)::varchar as n, ${metrics.map((name) => `sum(${name})::varchar as ${name}`).join(', ')} from ${from}`;
const perDay = (from: string): string =>
  `${whole(from).replace('select', 'select day::varchar as day,')} group by day order by day`;

/** The two slices and the ledger behind them: one state only if all of it is. */
const ofSnapshot = [
  whole('network_daily'),
  whole('app_daily'),
  whole('network_daily_final'),
  `select count(*)::varchar as loads, max(load_id)::varchar as newest from ripen.loads`,
  `select slice, sum(rows)::varchar as n from ripen.periods group by slice order by slice`,
  whole('network_daily'),
];

/** Days of one slice, the other one, final cells: one night of all tables only if all of it is. */
const ofCatalog = [
  perDay('network_daily'),
  whole('app_daily'),
  perDay('network_daily_final'),
  whole('app_daily_final'),
  perDay('network_daily'),
];

test(
  `${READERS} analysts read snapshot, catalog and files without pause through ${NIGHTS} syncs: no error on either side, every answer of one state`,
  async () => {
    const scenario = await openScenario(slices, { simulator: { world: smallWorld } });
    onTestFinished(async () => scenario.close());
    const snapshot = join(scenario.directory, 'analytics.duckdb');
    const lake = join(scenario.directory, 'lake');
    const tables = join(scenario.directory, 'tables');
    const publish = [
      { kind: 'duckdb', path: snapshot, mode: 0o644 },
      { kind: 'delta', path: tables, mode: 0o644, keepMs: 3 * 86_400_000 },
      { kind: 'parquet', path: lake, mode: 0o644 },
    ] as const;
    const answerOf = async (queries: readonly string[]): Promise<string> => {
      const said: unknown[] = [];
      for (const sql of queries) said.push(await query(scenario, sql));
      return JSON.stringify(said);
    };
    const states = { snapshot: new Set<string>(), catalog: new Set<string>() };
    const days = new Set<string>();
    const night = async (index: number): Promise<void> => {
      const asOf = new Date(`${addDays(FIRST_NIGHT, index)}T06:00:00Z`);
      expect(await scenario.night(asOf, { publish })).toMatchObject({ status: 'succeeded', failures: [] });
      states.snapshot.add(await answerOf(ofSnapshot));
      states.catalog.add(await answerOf(ofCatalog));
      for (const row of await query(scenario, perDay('network_daily'))) days.add(JSON.stringify(row));
    };
    await night(0);

    const files = `read_parquet('${lake}/network_daily/*/data.parquet', hive_types = {day: DATE})`;
    const questions: readonly Question[] = [
      { name: 'snapshot', database: snapshot, queries: ofSnapshot },
      { name: 'catalog', database: join(tables, 'catalog.duckdb'), queries: ofCatalog },
      // A file under its fixed name can be replaced between its footer and its rows: whole periods, or an error.
      { name: 'files', database: ':memory:', queries: [perDay(files)], mayAskAgain: true },
    ];
    const analysts = await startAnalysts(READERS, questions);
    const startedAt = Date.now();
    try {
      for (let index = 1; index <= NIGHTS; index += 1) await night(index);
    } finally {
      const ms = Date.now() - startedAt;
      const found = await analysts.stop();
      const sessions = questions.map(({ name }) => {
        const each = found.map((one) => one.sessions[name] ?? 0);
        return `${each.reduce((sum, count) => sum + count, 0)} of ${name} (${Math.min(...each)} or more each)`;
      });
      process.stdout.write(
        `${READERS} analysts in ${Math.round(ms / 1000)} s of ${NIGHTS} syncs: ${sessions.join(', ')}; asked again: ${found.flatMap((one) => one.askedAgain).length}\n`,
      );
      expect(found.flatMap(({ errors }) => errors)).toEqual([]);
      const answers = (name: string): Set<string> => new Set(found.flatMap((one) => one.answers[name] ?? []));
      for (const name of ['snapshot', 'catalog'] as const) {
        expect([...answers(name)].filter((said) => !states[name].has(said))).toEqual([]);
        // They saw the syncs go by.
        expect(answers(name).size).toBeGreaterThan(1);
      }
      const rows = [...answers('files')].flatMap((said): unknown[] => JSON.parse(said).flat());
      expect(rows.map((row) => JSON.stringify(row)).filter((row) => !days.has(row))).toEqual([]);
      expect(rows.length).toBeGreaterThan(0);
      expect(Math.min(...found.flatMap((one) => Object.values(one.sessions)))).toBeGreaterThan(0);
    }
    const late = await startAnalysts(1, questions);
    const [last] = await late.stop();
    expect(last?.answers['snapshot']).toEqual([await answerOf(ofSnapshot)]);
    expect(last?.answers['catalog']).toEqual([await answerOf(ofCatalog)]);
    const now = await query(scenario, perDay('network_daily'));
    expect(last?.answers['files']).toEqual([JSON.stringify([now])]);
  },
  60_000 + READERS * NIGHTS * 3000,
);
