/** Which archived answers a replay loads. */

import { expect, test } from 'vitest';

import { addDays, day, type DayInterval } from '../../src/model/calendar.ts';
import type { SliceTable } from '../../src/model/ledger.ts';
import { periodsOf } from '../../src/model/period.ts';
import { windowOf } from '../../src/model/window.ts';
import { newestWindows, withoutHeld } from '../../src/spool/archive-contents.ts';
import type { ArchivedWindow } from '../../src/spool/archive-entry.ts';
import { loadedPeriod, slice } from '../support/slice.ts';

const daily = slice({ name: 'daily', dimensions: ['day'], metrics: ['installs'] });
const undated = slice({ name: 'undated', dimensions: ['os_name'], metrics: ['installs'] });

/** The answer to days of May, asked for in the night to a day of June. */
function answer(first: number, last: number, june: number, of = daily): ArchivedWindow {
  const may = (of: number): string => `2026-05-${String(of).padStart(2, '0')}`;
  const days: DayInterval = { start: day(may(first)), end: addDays(day(may(last)), 1) };
  const periods = periodsOf(days, of.grain, 1).map((period) => ({ period, reason: 'new' as const }));
  const { asked, replaced, fingerprint } = windowOf(of, 'f', periods);
  return {
    path: `${first}-${last} of ${june}`,
    entry: {
      slice: of.name,
      fingerprint,
      metrics: [...of.metrics],
      asked,
      replaced,
      periods,
      parts: [{}],
      parameters: [],
      requests: 1,
      requestedAt: night(june),
      receivedAt: night(june),
      asOf: null,
      bodies: [null],
    },
  };
}

const night = (june: number): Date => new Date(Date.UTC(2026, 5, june, 2, 30));

/** The first and last day of May that each still has. */
const spans = (windows: readonly ArchivedWindow[]): string[] =>
  windows.map(({ path, entry: { periods } }) => {
    const days = periods.map(({ period }) => Number(period.bucket.start.slice(-2)));
    return `${path}: ${days.join(' ')}`;
  });

test('an answer that later ones cover together is left out, one that is the newest for 1 of its 10 days keeps that day', () => {
  const windows = [answer(1, 10, 1), answer(11, 14, 1), answer(2, 10, 2), answer(11, 13, 3), answer(14, 15, 4)];
  expect(spans(newestWindows(windows, daily))).toEqual([
    '1-10 of 1: 1',
    '2-10 of 2: 2 3 4 5 6 7 8 9 10',
    '11-13 of 3: 11 12 13',
    '14-15 of 4: 14 15',
  ]);
});

test('loaded in any order, every day ends up with its newest answer', () => {
  const windows = [answer(1, 20, 1), answer(5, 9, 2), answer(8, 12, 3), answer(9, 9, 4), answer(1, 3, 5)];
  const loaded = (order: readonly ArchivedWindow[]): Map<string, string> =>
    new Map(
      order.flatMap(({ path, entry }) => entry.periods.map(({ period }) => [period.bucket.start, path] as const)),
    );
  const synced = loaded(windows);
  const newest = newestWindows(windows, daily);
  expect(loaded(newest)).toEqual(synced);
  expect(loaded(newest.toReversed())).toEqual(synced);
});

test('of a report without a date only the newest answer counts, whatever days it covers', () => {
  const windows = [answer(1, 10, 1, undated), answer(2, 11, 2, undated), answer(3, 12, 3, undated)];
  expect(newestWindows(windows, undated)).toEqual(windows.slice(2));
});

function ledger(fetched: readonly { readonly may: string; readonly june: number }[]): SliceTable {
  const periods = fetched.map(({ may, june }) => {
    const bucket = { start: day(may), end: addDays(day(may), 1) };
    return [bucket.start, loadedPeriod({ bucket, fetchedAt: night(june) })] as const;
  });
  return {
    fingerprint: 'f',
    state: 'live',
    weekStartsOn: null,
    maxDays: null,
    parts: null,
    partsNeededAt: null,
    periods: new Map(periods),
  };
}

test('an answer keeps the days that the ledger lacks, or holds from the same or an earlier fetch, and not those of a later one', () => {
  const may = answer(9, 10, 2);
  const kept = (table: SliceTable | null, of = may, within = daily): string[] => spans(withoutHeld(of, within, table));
  expect(kept(null)).toEqual(['9-10 of 2: 9 10']);
  const [ninth, tenth] = [
    { may: '2026-05-09', june: 3 },
    { may: '2026-05-10', june: 3 },
  ];
  expect(kept(ledger([ninth, tenth]))).toEqual([]);
  expect(kept(ledger([tenth]))).toEqual(['9-10 of 2: 9']);
  expect(kept(ledger([ninth, { ...tenth, june: 2 }]))).toEqual(['9-10 of 2: 10']);
  expect(kept(ledger([ninth, { ...tenth, june: 1 }]))).toEqual(['9-10 of 2: 10']);
  expect(kept(ledger([tenth, { may: '2026-05-11', june: 3 }]))).toEqual(['9-10 of 2: 9']);
  expect(kept(ledger([{ may: '2026-05-11', june: 3 }]), answer(1, 10, 2, undated), undated)).toEqual([]);
});

test('the as-of instant of an answer is held against the ledger; only under the same one, when it was asked for', () => {
  const { path, entry } = answer(10, 10, 9);
  const table = ledger([{ may: '2026-05-10', june: 3 }]);
  const asOf = (june: number, requested: number): ArchivedWindow => ({
    path,
    entry: { ...entry, asOf: night(june), requestedAt: night(requested) },
  });
  expect(withoutHeld(asOf(2, 9), daily, table)).toEqual([]);
  expect(withoutHeld(asOf(3, 2), daily, table)).toEqual([]);
  for (const later of [asOf(3, 3), asOf(3, 4), asOf(4, 1)]) {
    expect(withoutHeld(later, daily, table)).toEqual([later]);
  }
});
