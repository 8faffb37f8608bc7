import { describe, expect, test } from 'vitest';

import { passNights } from '../bench/nights/pass-nights.ts';
import { everythingImmature, lookback, ripen } from '../bench/nights/policy.ts';
import { differingRows } from '../bench/nights/reported-rows.ts';
import { runNights } from '../bench/nights/run-nights.ts';
import { nightsFromStart } from '../bench/nights/setting.ts';
import { day } from '../../src/model/calendar.ts';

const request = { firstDay: day('2025-01-01'), nights: 60, outage: { fromNight: 20, nights: 7 }, seed: 7 };

test('60 nights with an outage of 7 and none skipped have 53 runs, each once and between 03:00 and 06:00', () => {
  const runs = runNights({ ...request, shareSkipped: 0 });
  expect(runs).toHaveLength(53);
  expect(new Set(runs.map((at) => at.toISOString().slice(0, 10))).size).toBe(53);
  expect(runs.every((at) => at.getUTCHours() >= 3 && at.getUTCHours() < 6)).toBe(true);
  expect(runs.some((at) => at.toISOString().startsWith('2025-01-22'))).toBe(false);
});

test('chance takes further nights, never the first, and the same ones each time', () => {
  const runs = runNights({ ...request, shareSkipped: 0.5 });
  expect(runs.length).toBeLessThan(45);
  expect(runs[0]?.toISOString()).toMatch(/^2025-01-02T/);
  expect(runNights({ ...request, shareSkipped: 0.5 })).toEqual(runs);
});

describe('two answers about a day', () => {
  const row = (installs: unknown): Readonly<Record<string, unknown>> => ({ installs });

  test('are alike however 10 and nothing are written', () => {
    const left = new Map([
      ['a', row('10.0')],
      ['b', row(null)],
    ]);
    const right = new Map([
      ['a', row(10)],
      ['b', row(' ')],
    ]);
    expect(differingRows(left, right, 'installs')).toBe(0);
  });

  test('differ once per changed value, and once per row that only one of them has', () => {
    const left = new Map([
      ['a', row('10')],
      ['b', row('0')],
      ['gone', row('1')],
    ]);
    const right = new Map([
      ['a', row('11')],
      ['b', row(null)],
      ['new', row('1')],
    ]);
    expect(differingRows(left, right, 'installs')).toBe(4);
  });
});

describe('12 nights', () => {
  const setting = nightsFromStart(12, 0);

  test('ask for every row each night when everything is immature, and 3 days of look-back leave wrong values behind', () => {
    const [immature, recent] = passNights([everythingImmature(), lookback(3)], setting);
    expect(setting.nights.length).toBeGreaterThan(8);
    expect(immature?.nights.map(({ requests }) => requests)).toEqual(setting.nights.map(() => 1));
    expect(immature?.settledCells).toBe(0);
    expect(Math.max(...(immature?.rowsByAge.keys() ?? []))).toBe(12);
    expect(Math.max(...(recent?.rowsByAge.keys() ?? []))).toBe(3);
    expect([...(recent?.frozenCells.values() ?? [])].some((cells) => cells > 0)).toBe(true);
    expect(recent?.lateCells).toBeGreaterThan(0);
  });

  test('a horizon that is too short is found out: cells are called final that the service changes later', () => {
    const hasty = { ...setting, metrics: setting.metrics.map((metric) => ({ ...metric, horizonMs: 0 })) };
    const [outcome] = passNights([ripen('hasty', 'milestones')], hasty);
    expect(outcome?.wrongFinalCells).toBeGreaterThan(0);
    const [sound] = passNights([ripen('sound', 'milestones')], setting);
    expect(sound?.finalCells).toBeGreaterThan(0);
    expect(sound?.wrongFinalCells).toBe(0);
  });
});
