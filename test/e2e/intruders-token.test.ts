/**
 * FAULTS, intruders: a service (or whatever answers in its place) that says the token back, under every fault it can
 * have; then every byte that was written is searched for it.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';

import { beforeEach, describe, expect, test } from 'vitest';

import type { Fault, FaultRule } from '../support/simulator/faults.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { valuesIn } from '../support/installation-contents.ts';
import {
  openInstallation,
  serviceAt,
  TOKEN,
  type Ended,
  type Installation,
} from '../support/installation.ts';
import { replacedValue } from '../support/report-mutations.ts';

/** For a test that starts many processes, one after the other, on a busy machine. */
const MANY_PROCESSES_MS = 180_000;

const COST_KEY = 'c0st+mark3d/key==';

/** The forms a secret is looked for in. */
const formsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
];

const marks = [...formsOf(TOKEN), ...formsOf(COST_KEY)];

/** What the service says when it says too much. */
const ECHO = `you sent ${formsOf(TOKEN).join(' or ')}, and the key ${formsOf(COST_KEY).join(' or ')}`;
const ESCAPED = `\u001b]0;${TOKEN}\u0007 ${TOKEN.slice(0, 9)}\u0000${TOKEN.slice(9)} \u001b[31mred\u001b[0m \u009b2J \u202e`;

const status = (code: number, more: Partial<Extract<Fault, { kind: 'status' }>> = {}): Fault => ({
  kind: 'status',
  status: code,
  message: ECHO,
  ...more,
});
const said = (code: number, text: string, contentType: string): Fault =>
  status(code, { body: { text, contentType } });

/** What befalls each slice's only report; so many times, else always. */
const faults: Readonly<Record<string, { readonly fault: Fault; readonly times?: number }>> = {
  plain_400: { fault: status(400) },
  detail_400: { fault: status(400, { body: 'detail' }) },
  text_400: { fault: status(400, { body: 'text' }) },
  html_400: { fault: status(400, { body: 'html' }) },
  escaped_400: { fault: status(400, { message: ESCAPED }) },
  /** The token lies across the place where a long text is cut. */
  long_400: { fault: said(400, `${'x'.repeat(495)}${ECHO}`, 'text/plain') },
  status_403: { fault: status(403) },
  status_404: { fault: status(404, { body: 'message' }) },
  status_418: { fault: status(418, { body: 'error' }) },
  status_429: { fault: status(429), times: 1 },
  status_500: { fault: status(500, { body: 'text' }), times: 1 },
  status_502: { fault: status(502, { body: 'html' }), times: 1 },
  status_503: { fault: status(503), times: 1 },
  status_504: { fault: status(504, { body: 'message' }) },
  redirect: {
    fault: {
      kind: 'redirect',
      origin: `https://${TOKEN.replaceAll(/[^a-z0-9]/g, '')}.example.com`,
    },
  },
  page_200: { fault: said(200, `<html><title>${ECHO}</title>${ECHO}</html>`, 'text/html') },
  long_200: { fault: said(200, `${'x'.repeat(195)}${ECHO}`, 'text/plain') },
  broken_200: { fault: said(200, `{"rows": ["${ECHO}"], `, 'application/json'), times: 1 },
  error_200: { fault: said(200, JSON.stringify({ error: ECHO }), 'application/json') },
  other_200: { fault: said(200, JSON.stringify({ rows: ECHO, totals: ECHO }), 'application/json') },
  reset: { fault: { kind: 'reset' }, times: 1 },
  wrong_type: { fault: said(200, 'a page', `text/html; token=${TOKEN}`) },
  two_documents: { fault: { kind: 'garbled', edit: 'two_documents' } },
  too_heavy: { fault: { kind: 'too_heavy', maxRows: 0 } },
  cut: { fault: { kind: 'cut' }, times: 1 },
  no_number: { fault: { kind: 'report', mutate: replacedValue(0, 'installs', ECHO) } },
  odd_day: { fault: { kind: 'report', mutate: replacedValue(0, 'day', ECHO) } },
  debug: {
    fault: {
      kind: 'report',
      mutate: (report) => ({ ...report, debug: { headers: ECHO }, warnings: [ECHO] }),
    },
  },
};

let simulator: Simulator;
let installation: Installation;

beforeEach(async () => {
  const world = { seed: 3, listed: [], apps: 1, partners: 2, links: 4, rowsPerDay: 12 };
  const costCredential = `Partner ${COST_KEY}`;
  simulator = await startSimulator({
    token: TOKEN,
    costCredential,
    world,
    now: new Date('2026-02-14T02:30:00Z'),
  });
  installation = await openInstallation();
});

const settings = (slices: readonly string[], archive = 'off'): object => ({
  service: {
    ...serviceAt(simulator.url),
    headers: { 'X-Trace': 'on' },
    cost_headers: { Authorization: 'Partner ${COST_KEY}' },
  },
  warehouse: 'data/warehouse.duckdb',
  publish: [{ duckdb: 'data/snapshot.duckdb' }, { parquet: 'data/lake' }],
  archive,
  partners: false,
  slices: slices.map((name, index) => ({
    name,
    dimensions: ['day', 'os_name'],
    metrics: ['installs'],
    date_period: datePeriodOf(index),
  })),
});

/** Each slice asks for other days, by which its report is known. */
const datePeriodOf = (index: number): string => {
  const day = `2026-01-${String(index + 1).padStart(2, '0')}`;
  return `${day}:${day}`;
};

const run = (...argv: string[]): Promise<Ended> => installation.run(argv, { COST_KEY });
const sync = (...more: string[]): Promise<Ended> =>
  run('sync', '--as-of', '2026-02-14T02:30:00Z', ...more);

const befall = (
  fault: Fault,
  match: FaultRule['match'] = () => true,
  times = Infinity,
): (() => void) => simulator.script({ match, times, fault });

/** What is named befalls the reports of the slices that are named so, `times` instead of as often as usual. */
function befallReports(names: readonly string[], times?: number): void {
  for (const [index, name] of names.entries()) {
    const chosen = faults[name];
    if (chosen === undefined) throw new Error(`no fault is named ${name}`);
    befall(
      chosen.fault,
      ({ query }) => query.get('date_period') === datePeriodOf(index),
      times ?? chosen.times,
    );
  }
}

/** Where a marked secret occurs: in what was said, in the bytes of every file, in what databases and archives unpack to. */
async function marksIn(...ended: readonly Ended[]): Promise<string[]> {
  const texts = new Map<string, string>(
    ended.flatMap(({ out, err }, run) => [
      [`stdout ${run}`, out],
      [`stderr ${run}`, err],
    ]),
  );
  for (const file of await installation.files()) {
    const bytes = await readFile(installation.path(file));
    texts.set(file, bytes.toString('latin1'));
    if (file.endsWith('.gz')) texts.set(`${file}, unpacked`, gunzipSync(bytes).toString());
    if (file.endsWith('.duckdb'))
      texts.set(`${file}, values`, await valuesIn(installation.path(file)));
  }
  return [...texts].flatMap(([name, text]) =>
    marks.filter((mark) => text.includes(mark)).map((mark) => `${name}: ${around(text, mark)}`),
  );
}

const around = (text: string, mark: string): string => {
  const at = text.indexOf(mark);
  return text.slice(Math.max(0, at - 80), at + mark.length);
};

describe('a token the service says back', () => {
  test(
    'in 28 faults of reports is in no byte written: output, ledger, archive, snapshot, lake; no control character is shown',
    async () => {
      const names = Object.keys(faults);
      expect(names).toHaveLength(28);
      await installation.configure(settings(names, '30d'));
      befallReports(names);
      const [text, json] = [await sync(), await sync('--log', 'json', '--json')];
      const told = await Promise.all([
        run('status', '--json'),
        run('plan', '--json'),
        run('publish'),
      ]);
      expect([text.code, json.code]).toStrictEqual([78, 78]);
      for (const name of ['plain_400', 'status_403', 'page_200', 'no_number', 'odd_day'])
        expect(text.err).toContain(name);
      expect(text.err).toContain('you sent *** or *** or ***, and the key *** or *** or ***');
      expect(await marksIn(text, json, ...told)).toStrictEqual([]);
      // Nor do control characters in the words of an error reach a terminal.
      for (const { out, err } of [text, json, ...told])
        expect((out + err).replaceAll('\n', '')).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u);
    },
    MANY_PROCESSES_MS,
  );

  test('beside rows is in neither archive nor ledger: the rows are loaded, and the answer is not archived', async () => {
    await installation.configure(settings(['debug', 'daily'], '30d'));
    befallReports(['debug']);
    const ended = await sync();
    expect(ended.code).toBe(0);
    expect(ended.err).toContain('ARCHIVE_FAILED');
    expect(ended.err).toContain('The answer contained a credential.');
    const files = (await installation.files()).filter((file) => file.includes('.archive/'));
    const archived = files.map((file) => file.split('/').at(2));
    expect(new Set(archived)).toStrictEqual(new Set(['catalog.json', 'daily']));
    expect(await marksIn(ended)).toStrictEqual([]);
  });

  test('in a text of its rows fails their window, with 65, and is in no byte written', async () => {
    await installation.configure(settings(['daily'], '30d'));
    befall(
      { kind: 'report', mutate: replacedValue(0, 'os_name', ECHO) },
      ({ path, query }) => path.endsWith('/report') && query.get('dimensions') !== 'day',
    );
    const ended = await sync();
    expect(ended.code).toBe(65);
    expect(ended.err).toContain('its rows contained a credential of ripen');
    expect(await marksIn(ended)).toStrictEqual([]);
  });

  test.each([
    ['401 with words', status(401)],
    [
      'a redirect with it in the location',
      status(302, {
        headers: {
          location: `https://other.example.com/?t=${TOKEN}&u=${encodeURIComponent(TOKEN)}`,
        },
      }),
    ],
    [
      'a list that is none',
      said(
        200,
        JSON.stringify({ apps: ECHO, items: ECHO, data: ECHO, error: ECHO }),
        'application/json',
      ),
    ],
  ] as const)('by %s on every path is shown by no command', async (_, fault) => {
    await installation.configure({
      ...settings(['daily']),
      partners: true,
      links: { apps: 'all', every: '1h' },
    });
    befall(fault);
    const app = simulator.world.apps[0]?.token ?? '';
    const ended = await Promise.all([
      sync('--log', 'json'),
      run('check'),
      run('catalog', '--json'),
      run('partners'),
      run('links', 'list', '--app', app, '--log', 'json'),
    ]);
    expect(ended.map(({ code }) => code)).not.toContain(0);
    expect(ended.map(({ err }) => err).join()).not.toContain('BUG');
    expect(await marksIn(...ended)).toStrictEqual([]);
  });

  test('or the key of the ad spend API, in refusals of ad spend, is in neither the rejects file nor the ledger', async () => {
    await installation.configure(settings(['daily']));
    const lines = ['first', 'second'].map((name) => `${name}-of-the-cost-ids,install,EUR,1.5,tag`);
    await writeFile(
      installation.path('spend.csv'),
      ['cost_id,cost_type,cost_currency,cost_amount,tag', ...lines].join('\n'),
    );
    befall(status(400), ({ path }) => path === '/cost', 1);
    befall(status(403, { body: 'text' }), ({ path }) => path === '/cost', 1);
    expect((await sync()).code).toBe(0);
    const ended = await run('spend', 'send', '--file', 'spend.csv');
    expect(ended.code).toBe(65);
    expect(await marksIn(ended)).toStrictEqual([]);
  });
});
