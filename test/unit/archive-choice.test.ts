/** Which archived answers a replay loads. */

import { expect, test } from 'vitest';

import { addDays, day, type DayInterval } from '../../src/model/calendar.ts';
import type { SliceTable } from '../../src/model/ledger.ts';
import { periodsOf } from '../../src/model/period.ts';
import { windowOf } from '../../src/model/window.ts';
import { isOutdated, newestWindows } from '../../src/spool/archive-contents.ts';
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
const names = (windows: readonly ArchivedWindow[]): string[] => windows.map(({ path }) => path);

test('an answer that later ones cover together is left out, one that is the newest for 1 of its 10 days is not', () => {
  const windows = [answer(1, 10, 1), answer(11, 20, 1), answer(2, 10, 2), answer(11, 15, 3), answer(16, 20, 4)];
  expect(names(newestWindows(windows, daily))).toEqual(['1-10 of 1', '2-10 of 2', '11-15 of 3', '16-20 of 4']);
});

test('loaded in order, every day ends up with its newest answer', () => {
  const windows = [answer(1, 20, 1), answer(5, 9, 2), answer(8, 12, 3), answer(9, 9, 4), answer(1, 3, 5)];
  const replayed = new Map<string, string>();
  const synced = new Map<string, string>();
  const load = (table: Map<string, string>, { path, entry }: ArchivedWindow): void => {
    for (const { period } of entry.periods) table.set(period.bucket.start, path);
  };
  for (const window of windows) load(synced, window);
  for (const window of newestWindows(windows, daily)) load(replayed, window);
  expect(replayed).toEqual(synced);
});

test('of a report without a date only the newest answer counts, whatever days it covers', () => {
  const windows = [answer(1, 10, 1, undated), answer(2, 11, 2, undated), answer(3, 12, 3, undated)];
  expect(names(newestWindows(windows, undated))).toEqual(['3-12 of 3']);
});

function ledger(fetched: readonly { readonly may: string; readonly june: number }[]): SliceTable {
  const periods = fetched.map(({ may, june }) => {
    const bucket = { start: day(may), end: addDays(day(may), 1) };
    return [bucket.start, loadedPeriod({ bucket, fetchedAt: night(june) })] as const;
  });
  return {
    fingerprint: 'f',
    tableName: 'main.daily',
    state: 'live',
    weekStartsOn: null,
    maxDays: null,
    parts: null,
    periods: new Map(periods),
  };
}

test('an answer is outdated when the ledger holds a later fetch of all 2 of its days, not when it lacks one or holds the same or another', () => {
  const { entry } = answer(9, 10, 2);
  expect(isOutdated(entry, daily, null)).toBe(false);
  const [ninth, tenth] = [
    { may: '2026-05-09', june: 3 },
    { may: '2026-05-10', june: 3 },
  ];
  expect(isOutdated(entry, daily, ledger([ninth, tenth]))).toBe(true);
  expect(isOutdated(entry, daily, ledger([tenth]))).toBe(false);
  expect(isOutdated(entry, daily, ledger([ninth, { ...tenth, june: 2 }]))).toBe(false);
  expect(isOutdated(entry, daily, ledger([tenth, { may: '2026-05-11', june: 3 }]))).toBe(false);
  expect(isOutdated(answer(1, 10, 2, undated).entry, undated, ledger([{ may: '2026-05-11', june: 3 }]))).toBe(true);
});

test('the as-of instant an answer was fetched under is held against the ledger, not when it was asked for', () => {
  const { entry } = answer(10, 10, 9);
  const table = ledger([{ may: '2026-05-10', june: 3 }]);
  expect(isOutdated({ ...entry, asOf: night(2) }, daily, table)).toBe(true);
});
