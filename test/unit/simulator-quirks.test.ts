/** Each quirk of a simulated world, seen in the report or the catalog it answers. */

import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { answerFiltersData, answerReport } from '../../src/simulator/reports.ts';
import { bodyBytes, isDocument, type JsonDocument } from '../../src/simulator/answer.ts';
import { rowsOf } from '../../src/simulator/mutations.ts';
import {
  calculatedMetrics,
  oddlyNamedDimensions,
  oddlyNamedMetrics,
  unaskedKeys,
  type PagesQuirk,
  type Quirks,
} from '../../src/simulator/world/quirks.ts';
import { createWorld, type World } from '../../src/simulator/world/world.ts';

const small = { apps: 1, partners: 2, links: 6, rowsPerDay: 24 } as const;
const now = new Date('2026-03-01T12:00:00Z');
const usual = {
  dimensions: 'day,country_code',
  metrics: 'installs,cost,ecpi',
  date_period: '2026-01-01:2026-01-03',
  attribution_type: 'all',
  format_dates: 'false',
};

const aside = z.looseObject({
  warnings: z.array(z.string()).optional(),
  pagination: z.looseObject({ next: z.union([z.string(), z.number()]).nullish() }).nullish(),
});

/** Rows and totals are read without a schema: one would lose `__proto__`. */
type Document = z.output<typeof aside> & {
  readonly rows: readonly JsonDocument[];
  readonly totals?: JsonDocument | undefined;
};

function documentOf(text: string): Document | null {
  const document: unknown = JSON.parse(text);
  if (!isDocument(document) || !('rows' in document)) return null;
  const rest = aside.parse(document);
  const { totals } = document;
  return { ...rest, rows: rowsOf(document), ...(isDocument(totals) ? { totals } : {}) };
}

const quirky = (quirks: Partial<Quirks>): World => createWorld({ ...small, quirks });
const plain = quirky({});

function addressOf(parameters: Record<string, string>): URL {
  return new URL(
    `http://127.0.0.1:1/reports-service/report?${new URLSearchParams({ ...usual, ...parameters }).toString()}`,
  );
}

interface Told {
  readonly status: number;
  readonly document: Document | null;
  readonly bytes: number;
}

function told(world: World, parameters: Record<string, string> | URL = {}, at = now, ordinal = 1): Told {
  const address = parameters instanceof URL ? parameters : addressOf(parameters);
  const answer = answerReport(world, { address, now: at, ordinal });
  const bytes = bodyBytes(answer.body, false);
  const document = answer.body.kind === 'document' ? documentOf(bytes.toString()) : null;
  return { status: answer.status, document, bytes: bytes.length };
}

function report(world: World, parameters: Record<string, string> = {}, at = now): Document {
  const { document } = told(world, parameters, at);
  return document ?? { rows: [], totals: {} };
}

const sumOf = ({ rows }: Pick<Document, 'rows'>, metric: string): number =>
  rows.reduce((sum, row) => sum + Math.round(Number(row[metric] ?? 0) * 1_000_000), 0) / 1_000_000;

test('a world without quirks has totals of all rows, a null pagination and Monday weeks', () => {
  const { rows, totals, pagination } = report(plain);
  expect(rows.length).toBeGreaterThan(10);
  expect(totals?.['cost']).toBeCloseTo(sumOf({ rows }, 'cost'), 6);
  expect(pagination).toBeNull();
});

describe('totals', () => {
  test('are rounded to 2 digits while the rows keep 6', () => {
    const exact = report(plain);
    const rounded = report(quirky({ rounding: { rows: null, totals: 2, totalsOf: 'exact values' } }));
    expect(rounded.rows).toEqual(exact.rows);
    expect(rounded.totals?.['cost']).toBe(Number(Number(exact.totals?.['cost']).toFixed(2)));
    expect(rounded.totals?.['cost']).not.toBe(exact.totals?.['cost']);
    expect(rounded.totals?.['installs']).toBe(exact.totals?.['installs']);
  });

  test('are exact while the rows are rounded to 2 digits, or add up the rounded rows', () => {
    const exact = report(plain);
    const rounding = { rows: 2, totals: null };
    const rows = report(quirky({ rounding: { ...rounding, totalsOf: 'exact values' } }));
    const both = report(quirky({ rounding: { ...rounding, totalsOf: 'rounded rows' } }));
    expect(rows.totals).toEqual(exact.totals);
    expect(sumOf(rows, 'cost')).not.toBe(sumOf(exact, 'cost'));
    expect(both.totals?.['cost']).toBe(sumOf(rows, 'cost'));
    expect(both.totals?.['ecpi']).toBe(exact.totals?.['ecpi']);
    expect(rows.rows.every((row) => /^-?\d+(\.\d\d?)?$/.test(`${Number(row['cost'])}`))).toBe(true);
  });

  test('are missing for one metric, or for all in answers of the newest days, and written as text', () => {
    const one = report(quirky({ totals: { isMissing: (metric) => metric === 'cost', asText: true } }));
    expect(Object.entries(one.totals ?? {}).map(([metric, total]) => [metric, typeof total])).toEqual([
      ['installs', 'string'],
      ['ecpi', 'string'],
    ]);
    const isNew = (query: URLSearchParams): boolean => (query.get('date_period') ?? '').slice(11) >= '2026-02-27';
    const newest = quirky({ totals: { isMissing: (_, { query }) => isNew(query), asText: false } });
    expect(report(newest, { date_period: '2026-02-26:2026-02-27' }).totals).toEqual({});
    expect(Object.keys(report(newest).totals ?? {})).toEqual(['installs', 'cost', 'ecpi']);
  });

  test('of calculated metrics are not the sums of their rows, whatever their names say', () => {
    const world = quirky({ metrics: calculatedMetrics });
    const { rows, totals } = report(world, { metrics: 'revenue_to_cost,worth_of_an_install' });
    for (const metric of ['revenue_to_cost', 'worth_of_an_install']) {
      expect(Number(totals?.[metric])).toBeGreaterThan(0);
      expect(Math.abs(sumOf({ rows }, metric) - Number(totals?.[metric]))).toBeGreaterThan(0.1);
    }
  });
});

describe('a cap of 5 rows', () => {
  const cap = { rows: 5, totals: 'all', warning: null } as const;

  test('leaves the totals of all rows, in silence', () => {
    const [all, cut] = [report(plain), report(quirky({ cap }))];
    expect(cut).toEqual({ ...all, rows: all.rows.slice(0, 5) });
  });

  test('states the totals of the cut rows, with a warning', () => {
    const cut = report(quirky({ cap: { ...cap, totals: 'cut', warning: 'limited to 5 rows' } }));
    expect(cut.totals?.['installs']).toBe(sumOf(cut, 'installs'));
    expect(cut.totals?.['installs']).toBeLessThan(sumOf(report(plain), 'installs'));
    expect(cut.warnings).toEqual(['limited to 5 rows']);
  });
});

describe('pages of 4 rows', () => {
  const pages: PagesQuirk = { size: 4, style: 'v1', last: 'null', totals: 'whole', misleads: null };

  /** Every page of the usual report, `next` followed as an address, a cursor or a number. */
  function followed(quirk: PagesQuirk): Document[] {
    const world = quirky({ pages: quirk });
    const found: Document[] = [];
    for (let address = addressOf({}); found.length < 30;) {
      const { document } = told(world, address);
      if (document === null) break;
      found.push(document);
      const next = document.pagination?.next ?? '';
      if (next === '') break;
      const isAddress = URL.canParse(String(next));
      const onward = new URL(isAddress ? String(next) : address);
      if (!isAddress) onward.searchParams.set(typeof next === 'number' ? 'page' : 'after', String(next));
      address = onward;
    }
    return found;
  }

  test.each(['v1', 'v2', 'cursor', 'number'] as const)('in the style %s hold every row once, in order', (style) => {
    for (const last of ['null', 'absent', 'empty'] as const) {
      const found = followed({ ...pages, style, last });
      expect(found.flatMap(({ rows }) => rows)).toEqual(report(plain).rows);
      expect(found.every(({ totals }) => totals?.['installs'] === report(plain).totals?.['installs'])).toBe(true);
      const end = found.at(-1)?.pagination;
      expect(last === 'absent' ? end !== undefined && !('next' in (end ?? {})) : end?.next).toBe(
        { null: null, absent: true, empty: '' }[last],
      );
    }
  });

  test('carry the totals of their own rows', () => {
    const found = followed({ ...pages, totals: 'page' });
    expect(found.length).toBeGreaterThan(2);
    expect(found.map(({ totals }) => totals?.['installs'])).toEqual(found.map((each) => sumOf(each, 'installs')));
  });

  test('are {"page":1,"next":null} where one page holds all', () => {
    const { pagination } = report(quirky({ pages: { ...pages, size: 1000, style: 'number' } }));
    expect(pagination).toEqual({ page: 1, next: null });
  });

  test('lead back to the first one, on without end, or to another origin', () => {
    const next = (misleads: PagesQuirk['misleads'], ordinal: number, style: PagesQuirk['style'] = 'v2'): unknown =>
      told(quirky({ pages: { ...pages, style, misleads } }), {}, now, ordinal).document?.pagination?.next;
    expect(next({ to: 'start' }, 1)).toBe(next({ to: 'start' }, 2));
    expect(next({ to: 'endless' }, 1)).not.toBe(next({ to: 'endless' }, 2));
    expect(next({ to: 'endless' }, 1, 'cursor')).toMatch(/^[\w-]+$/);
    const elsewhere = next({ to: 'other_origin', origin: 'https://evil.example.com' }, 1);
    expect(elsewhere).toBe(addressOf({}).href.replace('http://127.0.0.1:1', 'https://evil.example.com'));
  });
});

describe('emptied days', () => {
  const night = new Date('2026-03-02T03:00:00Z');
  const isEmpty = (day: string, at: Date): boolean => at >= night && day !== '2026-01-02';

  test('are missing from rows and totals from a night on, and a report of them alone is 204', () => {
    const world = quirky({ emptied: { isEmpty, as: '204' } });
    expect(report(world)).toEqual(report(plain));
    const { rows, totals } = report(world, {}, night);
    expect(new Set(rows.map((row) => row['day']))).toEqual(new Set(['2026-01-02']));
    expect(totals?.['installs']).toBe(sumOf({ rows }, 'installs'));
    expect(told(world, { date_period: '2026-01-03:2026-01-03' }, night)).toEqual({
      status: 204,
      document: null,
      bytes: 0,
    });
  });

  test('are a document without rows, with totals or without, or beside an error', () => {
    const ask = (quirks: Partial<Quirks>): unknown =>
      told(quirky(quirks), { date_period: '2026-01-03:2026-01-03' }, night).document;
    expect(ask({ emptied: { isEmpty, as: 'no rows' } })).toEqual({ rows: [], totals: {} });
    expect(ask({ emptied: { isEmpty, as: 'no rows, no totals' } })).toEqual({ rows: [] });
    const besides = { keys: { error: 'query cancelled' }, during: () => true };
    const cancelled = { rows: [], totals: {}, error: 'query cancelled' };
    expect(ask({ emptied: { isEmpty, as: 'no rows' }, besides })).toEqual(cancelled);
  });
});

test.each(['error', 'errors', 'error_code', 'detail'])('rows come beside %s at the chosen instants', (key) => {
  const world = quirky({ besides: { keys: { [key]: 'x' }, during: ({ now: at }) => at > now } });
  expect(report(world)).toEqual(report(plain));
  expect(report(world, {}, new Date('2026-03-02T12:00:00Z'))).toMatchObject({ [key]: 'x' });
});

test.each(['null', 'absent'] as const)('NULL countries are one row stated as %s, which passes no filter', (as) => {
  const values = [...new Set(report(plain).rows.map((row) => String(row['country_code'])))];
  expect(values.length).toBeGreaterThan(1);
  const world = quirky({ nulls: new Map([['country_code', { values, as }]]) });
  const { rows, totals } = report(world, { date_period: '2026-01-01:2026-01-01' });
  expect(rows).toHaveLength(1);
  expect([rows[0]?.['country_code'] ?? null, 'country_code' in (rows[0] ?? {})]).toEqual([null, as === 'null']);
  expect(totals?.['installs']).toBe(report(plain, { date_period: '2026-01-01:2026-01-01' }).totals?.['installs']);
  for (const filter of ['in', 'not_in', 'exclude', 'not_starts_with']) {
    expect(told(world, { [`country_code__${filter}`]: 'XX' }).status).toBe(204);
  }
  expect(told(plain, { country_code__not_in: 'XX' }).document).toEqual(report(plain));
});

describe('names the interface document does not know', () => {
  const world = quirky({ metrics: oddlyNamedMetrics, dimensions: oddlyNamedDimensions });
  const names = oddlyNamedMetrics.map(({ id }) => id);
  const strange = `the "user's" plan`;

  test('are rows and totals under period, constructor, __proto__ and 3 others, which add up', () => {
    const { rows, totals } = report(world, { metrics: names.join(','), dimensions: `day,sdk_version,${strange}` });
    expect(Object.keys(rows[0] ?? {})).toEqual(['attr_dependency', 'day', 'sdk_version', strange, ...names]);
    expect(Object.keys(totals ?? {})).toEqual(names);
    for (const name of names) expect(totals?.[name]).toBe(sumOf({ rows }, name));
    expect(Number(totals?.['constructor'])).toBeGreaterThan(0);
  });

  test('are filtered by, listed, and refused by a world without them', () => {
    const { rows } = report(world, { dimensions: `day,${strange}`, [`${strange}__in`]: 'free' });
    expect(new Set(rows.map((row) => row[strange]))).toEqual(new Set(['free']));
    const lists = world.filtersData(new URLSearchParams({ required_filters: 'overview_metrics,dimensions' }));
    expect(Object.values(lists).flatMap((items) => items.map(({ id }) => id))).toEqual(
      expect.arrayContaining([...names, 'sdk_version', strange]),
    );
    expect(told(plain, { metrics: '__proto__' }).status).toBe(400);
    expect(told(plain, { dimensions: 'day,sdk_version' }).status).toBe(400);
  });
});

test('60 unasked keys, one of them empty, 504 above 5 rows, and a body of 2 megabytes', () => {
  const { rows } = report(quirky({ unasked: unaskedKeys(60) }));
  expect(Object.keys(rows[0] ?? {}).length).toBe(6 + 60);
  expect(rows[0]?.['']).toBe('value 0');
  expect(told(quirky({ maxRows: 5 })).status).toBe(504);
  expect(told(quirky({ maxRows: 5 }), { dimensions: 'day' }).status).toBe(200);
  expect(told(quirky({ padding: { perRow: 0, perAnswer: 2_000_000 } })).bytes).toBeGreaterThan(2_000_000);
  const wide = told(quirky({ padding: { perRow: 50_000, perAnswer: 0 } }));
  expect(wide.bytes).toBeGreaterThan(50_000 * (wide.document?.rows.length ?? Infinity));
});

test('weeks begin on Sunday from an instant on', () => {
  const world = quirky({ weeks: { from: now, startOn: 0 } });
  const first = (at: string): unknown => report(world, { dimensions: 'week' }, new Date(at)).rows[0]?.['week'];
  expect(first('2026-03-01T11:59:59Z')).toBe('2025-12-29 - 2026-01-04');
  expect(first('2026-03-01T12:00:00Z')).toBe('2025-12-28 - 2026-01-03');
});

describe('a catalog', () => {
  const listShape = z.record(
    z.string(),
    z.array(z.looseObject({ id: z.string(), formatting: z.string(), section: z.string() })),
  );
  const lists = 'overview_metrics,cost_metrics,event_metrics';

  function catalog(world: World, at: Date): z.output<typeof listShape> {
    const answer = answerFiltersData(world, new URLSearchParams({ required_filters: lists }), at);
    return listShape.parse(JSON.parse(bodyBytes(answer.body, false).toString()));
  }

  const during = (at: Date): boolean => at > now;
  const night = new Date('2026-03-02T12:00:00Z');

  test('is empty or shorter on one night and as before on the others', () => {
    const world = quirky({
      catalog: [
        { during, kind: 'shortened', lists: ['cost_metrics'], keep: 0 },
        { during, kind: 'shortened', lists: ['overview_metrics'], keep: 3 },
      ],
    });
    expect(catalog(world, now)).toEqual(catalog(plain, now));
    expect(Object.values(catalog(world, night)).map(({ length }) => Math.min(length, 4))).toEqual([3, 0, 4]);
  });

  test('gives installs another formatting and section, and moves cost to another list', () => {
    const world = quirky({
      catalog: [
        { during, kind: 'altered', id: 'installs', formatting: 'decimal', section: 'Fraud' },
        { during, kind: 'moved', id: 'cost', to: 'cost_metrics' },
      ],
    });
    const { overview_metrics: overview = [], cost_metrics: cost = [] } = catalog(world, night);
    expect(overview.find(({ id }) => id === 'installs')).toMatchObject({ formatting: 'decimal', section: 'Fraud' });
    expect([overview.some(({ id }) => id === 'cost'), cost.at(-1)?.id]).toEqual([false, 'cost']);
  });

  test('has 200 000 items', () => {
    const world = quirky({ catalog: [{ during, kind: 'lengthened', list: 'event_metrics', items: 200_000 }] });
    const { event_metrics: events = [] } = catalog(world, night);
    expect(new Set(events.map(({ id }) => id)).size).toBe(200_000);
  });
});
