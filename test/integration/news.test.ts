/** The night's news: one night that has one item of each kind, as text, JSON, page, notification and in every copy. */

import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

import { asFailure } from '../../src/errors.ts';
import { newsItem, newsKinds, type NewsItem } from '../../src/report/status/status-report.ts';
import { deltaRows } from '../support/delta-reader.ts';
import { smallWorld } from '../support/night.ts';
import { ask } from '../support/sample-warehouse.ts';
import { openScenario, TOKEN, type Scenario } from '../support/scenario.ts';
import { startScriptedServer, type ScriptedServer } from '../support/scripted-server.ts';
import type { JsonDocument } from '../support/simulator/answer.ts';
import { isRecord, isList } from '../support/simulator/answer.ts';
import { rowsOf } from '../support/simulator/mutations.ts';
import { carriedOut, recordedShell } from '../unit/cli-recorded-shell.ts';

const FIRST = '2026-03-01T06:00:00.000Z';
/** After a pause, so that history shows how long totals move, and days are missing. */
const SECOND = '2026-04-10T06:00:00.000Z';
/** Final on the first night, and corrected since. */
const CORRECTED = ['2026-02-02', '2026-02-03', '2026-02-04'];
const MORE = 1000;

const AUDITS = `audits:
  - { name: goal, sql: "select count(*) as days from daily" }
  - { name: no_older_day, sql: "select min(day) as first from daily", on_fail: hold }
`;

let scenario: Scenario;
let hook: ScriptedServer;
let items: readonly NewsItem[];
let since: string;
let notices: string[];
let codes: number[];

const path = (...names: string[]): string => join(scenario.directory, ...names);

async function configure(audits = ''): Promise<void> {
  const { url } = scenario.simulator;
  const config = `service: { base_url: ${url}, reports_url: ${url}, cost_url: ${url}, token: ${TOKEN} }
warehouse: data/w.duckdb
notify: { url: "${hook.origin}", on: [failed, succeeded] }
publish: [{ duckdb: copies/a.duckdb }, { delta: copies/tables }, { parquet: copies/lake }]
${audits}slices:
  - name: daily
    dimensions: [day, app_token]
    metrics: [installs, clicks, cost, all_revenue_total_d7]
    date_period: 2025-12-01:yesterday
    horizons: { installs: 20d }
`;
  await writeFile(path('ripen.yaml'), config);
}

async function ripen(...argv: string[]) {
  const shell = recordedShell({ directory: scenario.directory });
  const code = await carriedOut(shell, ...argv).catch((thrown: unknown) => {
    throw asFailure(thrown);
  });
  return { code, printed: shell.printed.join('\n'), told: shell.told };
}

/** A list without some items, wherever it stands; what counts them follows. */
const without =
  (...ids: readonly (string | undefined)[]) =>
  (document: JsonDocument): JsonDocument => {
    const isKept = (item: unknown): boolean => !isRecord(item) || !ids.includes(String(item['id']));
    const changed: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(document)) {
      const isCount = /^(?:total|collection_size)$/.test(key);
      if (isRecord(value)) changed[key] = without(...ids)(value);
      else if (isList(value)) changed[key] = value.filter(isKept);
      else changed[key] = isCount ? String(Number(value) - ids.length) : value;
    }
    return changed;
  };

/** One row of each corrected day has more installs, and the totals agree. */
function corrected(report: JsonDocument): JsonDocument {
  const days = new Set(CORRECTED);
  let added = 0;
  const rows = rowsOf(report).map((row) => {
    if (!('installs' in row) || !days.delete(String(row['day']))) return row;
    added += MORE;
    return Object.assign({}, row, { installs: String(Number(row['installs']) + MORE) });
  });
  const { totals } = report;
  if (!isRecord(totals) || added === 0) return report;
  return { ...report, rows, totals: { ...totals, installs: Number(totals['installs']) + added } };
}

beforeAll(async () => {
  hook = await startScriptedServer(() => ({ status: 200 }));
  scenario = await openScenario([], { simulator: { world: smallWorld } });
  await mkdir(path('data'));
  const { simulator } = scenario;
  const { world } = simulator;
  const [app, otherApp] = world.apps.map(({ token }) => token);
  const [partner, otherPartner] = world.partners.map(({ id }) => String(id));
  const during = (of: RegExp, mutate: (document: JsonDocument) => JsonDocument): (() => void) =>
    simulator.script({
      match: (request) => of.test(request.path),
      times: Infinity,
      fault: { kind: 'report', mutate },
    });
  simulator.setNow(new Date(FIRST));
  const ends = [
    during(/filters_data/, without(otherApp, 'sessions')),
    during(/partners$/, without(otherPartner)),
  ];
  await configure();
  const first = await ripen('sync', '--as-of', FIRST, '--quiet');
  await cp(path('copies', 'a.duckdb'), path('first.duckdb'));
  for (const end of ends) end();
  simulator.setNow(new Date(SECOND));
  during(/filters_data/, without(app, 'clicks', 'impressions'));
  during(/partners$/, without(partner));
  during(/report$/, corrected);
  await configure(AUDITS);
  const before = hook.received.length;
  const second = await ripen('sync', '--as-of', SECOND, '--quiet');
  codes = [first.code, second.code];
  notices = hook.received
    .slice(before)
    .map(({ body }) => z.object({ text: z.string() }).parse(JSON.parse(body)).text);
  const { printed } = await ripen('status', '--news', '--json', '--as-of', SECOND);
  const report = z.object({ news: z.object({ since: z.string(), items: z.array(newsItem) }) });
  const { news } = report.parse(JSON.parse(printed));
  ({ since, items } = news);
}, 300_000);

afterAll(async () => {
  await scenario.close();
  await hook.close();
});

const itemOf = (kind: NewsItem['kind']): NewsItem | undefined =>
  items.find((item) => item.kind === kind);

test('one night has an item of each kind, each with its time, in order of importance', () => {
  expect(codes).toEqual([0, 65]);
  expect(since).toBe(FIRST);
  const kinds = [...new Set(items.map(({ kind }) => kind))];
  expect(kinds).toEqual(newsKinds.filter((kind) => kind !== 'restless total moved'));
  expect(items.filter(({ found_at: at }) => at !== SECOND)).toEqual([]);
});

test('each item says what the service, the catalog and the warehouse show', async () => {
  const [stored] = await ask(
    path('first.duckdb'),
    `select sum(installs)::double as installs from daily where day in ('${CORRECTED.join(`', '`)}')`,
  );
  const before = Number(stored?.['installs']);
  expect(itemOf('final total moved')).toMatchObject({
    slice: 'daily',
    name: 'installs',
    periods: 3,
    first_period: CORRECTED[0],
    last_period: CORRECTED[2],
    before,
    after: before + 3 * MORE,
    share: (3 * MORE) / before,
  });
  const { world } = scenario.simulator;
  const [app, otherApp] = world.apps;
  const [partner, otherPartner] = world.partners;
  expect(itemOf('app gone')).toMatchObject({ name: app?.token, label: app?.name });
  expect(itemOf('app new')).toMatchObject({ name: otherApp?.token, label: otherApp?.name });
  expect(itemOf('partner gone')).toMatchObject({ name: String(partner?.id) });
  expect(itemOf('partner new')).toMatchObject({ name: String(otherPartner?.id) });
  expect(itemOf('metric kept')).toMatchObject({ name: 'clicks' });
  expect(itemOf('metric gone')).toMatchObject({ name: 'impressions' });
  expect(itemOf('metric new')).toMatchObject({ name: 'sessions', label: 'Sessions' });
  expect(itemOf('horizon contradicted')).toMatchObject({ name: 'installs', before: 20, after: 29 });
  const missing = { periods: 39, first_period: '2026-03-01', last_period: '2026-04-08' };
  expect(itemOf('gap filled')).toMatchObject({ slice: 'daily', ...missing });
  expect(itemOf('audit warned')).toMatchObject({ name: 'goal' });
  expect(itemOf('audit held')).toMatchObject({ name: 'no_older_day' });
});

test('the text, the page and the notification have the same five lines, then counts, then how far the totals agree', async () => {
  const { printed } = await ripen('status', '--news', '--as-of', SECOND);
  const [headline, , title, ...lines] = printed.split('\n').map((line) => line.trim());
  expect(headline).toContain('was held back by an audit.');
  expect(title).toBe('News since 2026-03-01 06:00 UTC:');
  const [held, warned, ...news] = lines;
  expect(held).toMatch(/^2026-04-10 06:00 The audit no_older_day .*; that run published nothing$/);
  expect(warned).toMatch(/^2026-04-10 06:00 The audit goal returned 1 row: /);
  expect(news).toHaveLength(7);
  expect(news[2]).toMatch(
    /^2026-04-10 06:00 daily: final installs of 3 periods \(2026-02-02 … 2026-02-04\) moved from [\d,]+ to [\d,]+ \(\+[\d.]+ %\)$/,
  );
  expect(news[5]).toMatch(
    /^also 1 metric gone, 1 partner gone, 39 missing periods loaded, 28 totals moved, 1 metric new, 1 partner new, \d+ values became final$/,
  );
  expect(news[6]).toMatch(/^all [\d,]+ totals agree with the service, as of 2026-04-10 06:00 UTC$/);
  expect(notices).toHaveLength(1);
  expect(notices[0]).toContain([`${title}`, ...news].join('\n'));
  expect(notices[0]?.match(/The audit goal/g)).toHaveLength(1);
  expect((await ripen('status', '--html', 'page.html', '--as-of', SECOND)).code).toBe(0);
  const page = await readFile(path('page.html'), 'utf8');
  const listed = [...page.matchAll(/<li>(\d{4}.*?|also .*?|all .*?)<\/li>/g)].map(
    ([, line]) => line,
  );
  expect(listed.slice(0, lines.length)).toEqual(
    lines.map((line) => line.replaceAll('"', '&quot;')),
  );
  expect(page.indexOf('id="news"')).toBeLessThan(page.indexOf('<table'));
});

test('a slice says for its newest periods when their control totals last moved', async () => {
  const { printed } = await ripen('status', '--slice', 'daily', '--as-of', SECOND);
  const lines = printed.split('\n').map((line) => line.trim());
  const title = lines.findIndex((line) => line.startsWith('control totals moved'));
  expect(lines.slice(title, title + 3)).toEqual([
    expect.stringMatching(/^control totals moved +metrics +found \(UTC\)$/),
    expect.stringMatching(/^2026-02-28 +3 +2026-04-10 06:00$/),
    expect.stringMatching(/^2026-02-27 +3 +2026-04-10 06:00$/),
  ]);
});

test('since the last run nothing moved: one line says that all totals agree, and as of when', async () => {
  const { printed } = await ripen('status', '--news', '--since', SECOND, '--as-of', SECOND);
  expect(printed.split('\n').slice(2)).toEqual([
    `News since 2026-04-10 06:00 UTC:`,
    expect.stringMatching(
      /^ {2}nothing moved: all [\d,]+ totals agree with the service, as of 2026-04-10 06:00 UTC$/,
    ),
  ]);
  const wrong = ripen('status', '--news', '--since', 'monday');
  await expect(wrong).rejects.toMatchObject({ code: 'USAGE_INVALID' });
});

test('every copy has the same news once it is published, with the values that became final', async () => {
  await configure();
  expect((await ripen('publish', '--quiet')).code).toBe(0);
  const asText = 'select columns(*)::varchar from';
  const sorted = async (file: string, from: string): Promise<string[]> =>
    (await ask(file, `${asText} ${from}`)).map((row) => JSON.stringify(row)).toSorted();
  const snapshot = path('copies', 'a.duckdb');
  const news = await sorted(snapshot, 'ripen.news');
  expect(news.length).toBeGreaterThan(14);
  const delta = await deltaRows(path('copies', 'tables', 'ripen_news'));
  expect(await sorted(':memory:', delta)).toEqual(news);
  const parquet = `'${path('copies', 'lake', 'ripen_news', '*.parquet')}'`;
  expect(await sorted(':memory:', parquet)).toEqual(news);
  const finals = `select slice, period, metric from ripen.finality where is_final`;
  const cells = async (file: string): Promise<Set<string>> =>
    new Set((await ask(file, finals)).map((row) => JSON.stringify(row)));
  const before = await cells(path('first.duckdb'));
  const became = [...(await cells(snapshot))].filter((cell) => !before.has(cell));
  expect(itemOf('became final')).toMatchObject({ slice: 'daily', periods: became.length });
});
