import { describe, expect, test } from 'vitest';

import { Failure } from '../../src/errors.ts';
import { healthOf } from '../../src/report/status/health.ts';
import { statusText } from '../../src/report/terminal/status-text.ts';
import { textWidth } from '../../src/report/terminal/table.ts';
import { groupedFailures } from '../../src/report/status/failure-groups.ts';
import type { RunFailure, SliceStatus } from '../../src/report/status/status-report.ts';
import { sampleReport, sampleRun, sampleSlice } from '../support/status-sample.ts';

const timeOut: RunFailure = {
  code: 'SOURCE_TIMEOUT',
  slice: 'daily',
  window: '2026-02-01:2026-02-07',
  message: 'no answer in 1000 s',
  hint: 'Raise service.request_timeout.',
};

const three = sampleSlice({
  days: 20,
  missing: [4],
  metrics: [
    { metric: 'installs', horizonDays: 3 },
    { metric: 'revenue_total_d7', horizonDays: 8 },
    { metric: 'clicks', horizonDays: 3 },
  ],
});

describe('the finality of a slice as a picture', () => {
  const pictureOf = (slice: typeof three, columns: number): string[] => {
    const lines = statusText(sampleReport([slice]), columns, {
      details: true,
      maturation: false,
      backtest: false,
    }).split('\n');
    const start = lines.findIndex((line) => line.includes('fetched 2026'));
    return lines.slice(start + 1, lines.indexOf('', start));
  };

  test('has a line for each group of metrics that ripen alike, 2 for 3 metrics, a mark a day', () => {
    expect(pictureOf(three, 80)).toStrictEqual([
      '                    2026-01-25 … 2026-02-13',
      '  installs +1       ████·████████████▒▒▒',
      '  revenue_total_d7  ████·███████▒▒▒▒▒▒▒▒',
    ]);
  });

  test.each([42, 80, 120])('is never wider than %i columns, whatever the names', (columns) => {
    const wide = sampleSlice({
      days: 365,
      metrics: [
        { metric: 'コホート_revenue_of_an_event_with_a_very_long_name_d30', horizonDays: 31 },
        { metric: 'b', horizonDays: 7 },
        ...Array.from({ length: 30 }, (_, index) => ({
          metric: `metric_${index}`,
          horizonDays: 14,
        })),
      ],
    });
    const lines = pictureOf(wide, columns);
    expect(Math.max(...lines.slice(0, -1).map(textWidth))).toBeLessThanOrEqual(columns);
    expect(lines).toHaveLength(5);
    expect(lines[3]).toMatch(/^ {2}metric_0 \+29 +█+▒{14}$/);
  });
});

describe('the status as text', () => {
  const cost = {
    metric: 'cost',
    periods: 10,
    first_values: 0,
    before: 200,
    after: 215.5,
    change: 15.5,
    oldest_period: '2026-02-01',
  };
  const refunds = { ...cost, metric: 'refunds', before: -200, after: -150, change: 50 };
  const restated = [cost, refunds];
  const report = sampleReport([{ ...three, restated }]);

  test('reads so in 80 columns', () => {
    expect(statusText(report).split('\n')).toStrictEqual([
      'The last sync, as of 2026-02-14 02:30 UTC, succeeded, but something needs attention.',
      '  daily: 1 period never loaded, the oldest 2026-01-29.',
      '    hint: Run `ripen sync --slice daily`.',
      '',
      '/srv/warehouse.duckdb, as of 2026-02-14 03:00 UTC',
      '',
      'slice   final  periods    rows  newest      next (UTC)',
      'daily  71.7 %    19/20  19,186  2026-02-13  2026-02-15 00:00',
      '',
      'run       command  as of                       took   rows  requests  status',
      '3d1769f9  sync     2026-02-14 02:30 UTC  1 min 05 s  3,494        65  succeeded',
      '',
      '`ripen status --slice NAME` shows a slice in detail',
    ]);
  });

  test('of a named slice says what is loaded, fetched and restated', () => {
    const text = statusText(report, null, { details: true, maturation: false, backtest: false });
    expect(text).toContain(
      [
        'daily',
        '  19 of 20 periods loaded, 19,186 rows; 71.7 % of 60 cells final',
        '  rows up to 2026-02-13, fetched 2026-02-14 03:00 UTC, due 2026-02-15 00:00',
      ].join('\n'),
    );
    expect(text).toMatch(/cost +10 +200 +215\.5 +\+15\.5 +\+7\.8 %\n/);
    expect(text).toMatch(/refunds +10 +-200 +-150 +\+50 +\+25 %\n/);
    expect(text).toContain('█ final  ▒ maturing  · missing\n');
  });

  test('a slice that was never loaded says how many periods there are to load, and pretends no fetch', () => {
    const never = sampleSlice({
      days: 3,
      missing: [0, 1, 2],
      metrics: [{ metric: 'installs', horizonDays: 7 }],
      change: { newest_fetch_at: null, newest_period: null },
    });
    const text = statusText(sampleReport([never], { runs: [] }));
    expect(text).toMatch(/daily +0 % +0\/3 +\S+ +never loaded/);
    expect(text).toMatch(
      /^There is no run yet\.\n {2}Nothing is loaded yet\.\n {4}hint: Run `ripen sync`\./,
    );
    expect(text).not.toContain('fetched');
  });
});

describe('whether all is well', () => {
  const sound = sampleSlice({ days: 5, metrics: [{ metric: 'installs', horizonDays: 7 }] });

  test('a run that succeeded this night, and nothing missing, is well', () => {
    expect(sampleReport([sound]).health).toStrictEqual({
      state: 'well',
      headline: 'All is well. The last sync, as of 2026-02-14 02:30 UTC, succeeded.',
      findings: [],
    });
  });

  test('1 failed window is failed, with its cause and its remedy', () => {
    const runs = [sampleRun({ status: 'partial', exit_code: 75, failures: [timeOut] })];
    expect(sampleReport([sound], { runs }).health).toStrictEqual({
      state: 'failed',
      headline: 'The last sync, as of 2026-02-14 02:30 UTC, ended with 1 failure.',
      findings: [
        {
          message: 'SOURCE_TIMEOUT: daily 2026-02-01:2026-02-07: no answer in 1000 s',
          hint: timeOut.hint,
        },
      ],
    });
  });

  test('a run of 1 slice leaves the failures of the others, and takes its own away', () => {
    const other = { ...timeOut, slice: 'other', message: 'other: no answer' };
    const [night, later] = [
      sampleRun({
        status: 'partial',
        exit_code: 75,
        failures: [timeOut, other],
        slices: ['daily', 'other'],
      }),
      sampleRun({ slices: ['daily'] }),
    ];
    const slices = [sound, { ...sound, name: 'other' }];
    const { state, headline, findings } = sampleReport(slices, { runs: [later, night] }).health;
    expect([state, headline]).toStrictEqual([
      'failed',
      'The last sync, as of 2026-02-14 02:30 UTC, succeeded, but something needs attention.',
    ]);
    expect(findings.map(({ message }) => message)).toStrictEqual([
      'SOURCE_TIMEOUT: other: no answer',
    ]);
    const runs = [sampleRun({ slices: ['daily', 'other'] }), later, night];
    expect(sampleReport(slices, { runs }).health.state).toBe('well');
  });

  test('a sync that a signal stopped takes no failure away, and holds for no slice that only backfills load', () => {
    const slices = [sound, { ...sound, name: 'other' }];
    const stopped = sampleRun({ status: 'interrupted', exit_code: null, slices: ['daily'] });
    const night = sampleRun({ status: 'partial', failures: [timeOut], slices: ['daily'] });
    const { state, findings } = sampleReport(slices, { runs: [stopped, night] }).health;
    expect([state, findings.length]).toStrictEqual(['failed', 2]);
    const runs = [sampleRun({ slices: ['daily'] }), stopped, night];
    expect(sampleReport(slices, { runs }).health.state).toBe('well');
  });

  test('a clock behind the fetches on record is one finding, whatever seems late by it', () => {
    const clock = new Failure('FETCH_IN_FUTURE', 'fetched tomorrow', { hint: 'Set the clock.' });
    const { headline, findings } = healthOf(sampleReport([three]), clock);
    expect(headline).toMatch(/, succeeded, but something needs attention\.$/);
    expect(findings).toEqual([{ message: 'fetched tomorrow', hint: 'Set the clock.' }]);
  });

  test('a run that was killed is failed, and running again is the remedy', () => {
    const killed = { status: 'running', finished_at: null, exit_code: null, refreshed: null };
    const { state, headline, findings } = sampleReport([sound], {
      runs: [sampleRun(killed)],
    }).health;
    expect([state, headline]).toStrictEqual([
      'failed',
      'The last sync, as of 2026-02-14 02:30 UTC, did not finish.',
    ]);
    expect(findings[0]).toStrictEqual({
      message: 'The run was killed, its machine stopped, or the disk was full.',
      hint: 'Run `ripen sync` again; loaded data is kept.',
    });
    const publishing = { ...killed, refreshed: 'partial', failures: [timeOut] };
    const late = sampleReport([sound], { runs: [sampleRun(publishing)] }).health.findings;
    expect(late.map(({ message }) => message)).toStrictEqual([
      'The run loaded its data, but was killed while publishing, or a copy was restored as the warehouse.',
      'SOURCE_TIMEOUT: daily 2026-02-01:2026-02-07: no answer in 1000 s',
    ]);
  });

  test.each([
    ['2026-02-15T14:30:00.000Z', 'well'],
    ['2026-02-15T14:31:00.000Z', 'watch'],
  ])('a run 36 hours ago is still well, a minute later a night was missed: %s', (asOf, state) => {
    expect(sampleReport([sound], { as_of: asOf }).health.state).toBe(state);
  });
});

describe('failures that say the same', () => {
  const changed = (change: Partial<RunFailure>): RunFailure => ({ ...timeOut, ...change });
  const other = { slice: 'hourly', window: '2026-01-01:2026-01-07' };

  test.each<[string, Partial<RunFailure>[], string[]]>([
    [
      '3 windows of a slice are one, which names the first and the last day',
      ['2026-02-08:2026-02-14', '2026-02-01:2026-02-07', '2026-01-25:2026-01-31'].map((window) => ({
        window,
      })),
      ['daily, 3 windows from 2026-01-25 to 2026-02-14: no answer in 1000 s'],
    ],
    [
      '2 slices are one, with how many requests failed',
      [{}, other],
      [
        '2 slices, 2 requests from 2026-01-01 to 2026-02-07, first: daily 2026-02-01:2026-02-07: no answer in 1000 s',
      ],
    ],
    [
      'another cause stay two, and name their slice once',
      [{}, { ...other, message: 'slice hourly, 2026-02-01: 504' }],
      ['daily 2026-02-01:2026-02-07: no answer in 1000 s', 'slice hourly, 2026-02-01: 504'],
    ],
    ['the whole run keep their words', [{ slice: null, window: null }], ['no answer in 1000 s']],
  ])('of %s', (_, changes, messages) => {
    expect(groupedFailures(changes.map(changed)).map(({ message }) => message)).toStrictEqual(
      messages,
    );
  });

  test('are counted, and have a slice and a window where all of them have', () => {
    expect(groupedFailures([timeOut, timeOut])).toMatchObject([
      { slice: 'daily', window: timeOut.window, count: 2 },
    ]);
    expect(groupedFailures([timeOut, changed(other)])).toMatchObject([
      { slice: null, window: null, count: 2 },
    ]);
    const copies = ['a', 'b', 'b'].map((target) => Object.assign({}, timeOut, { target }));
    expect(groupedFailures(copies)[0]?.target).toBeUndefined();
    expect(groupedFailures(copies.slice(1))[0]?.target).toBe('b');
  });
});

describe('how a slice ripens', () => {
  const age = {
    metric: 'installs',
    age_days: 1,
    periods: 30,
    share_q25: 0.9,
    share_median: 0.95,
    share_q75: 1.01,
  };
  const score = {
    metric: 'installs',
    age_days: 1,
    cohorts: 30,
    median_abs_error: 0.02,
    median_abs_error_as_is: 0.05,
    coverage: 0.8,
    basis: 'too uncertain',
  };
  const seen: SliceStatus['horizons'][number] = {
    metric: 'installs',
    horizon_days: 7,
    is_restless: false,
    final_periods: 40,
    final_moved: 0,
    last_moved_day: null,
    last_change_age: 5,
    supported_days: null,
    supported_periods: 0,
    supported_moved: 0,
  };
  const textOf = (change: Partial<typeof three>): string =>
    statusText(sampleReport([{ ...three, ...change }]), 160, {
      details: true,
      maturation: true,
      backtest: true,
    });

  test('is a line a metric with the median at each age, of 30 ages at 9', () => {
    const ages = Array.from({ length: 30 }, (_, index) => ({ ...age, age_days: index + 1 }));
    const text = textOf({ maturation: ages });
    expect(text).toMatch(/at age( +\d+){9}\n +installs( +95){9}\n/);
    expect(text).toMatch(/at age +1 .* 30\n/);
  });

  test('tells what projections came to and what they rest on, of 30 ages at 9', () => {
    const projected = { ...score, metric: 'clicks', basis: 'ladder' };
    const text = textOf({ backtest: [score, projected] });
    expect(text).toMatch(/installs +1 +30 +2 % +5 % +80 % +too uncertain\n/);
    expect(text).toMatch(/clicks +1 +30 +2 % +5 % +80 % +ladder\n/);
    const ages = Array.from({ length: 30 }, (_, index) => ({ ...score, age_days: index + 1 }));
    expect(textOf({ backtest: ages }).match(/too uncertain\n/g)).toHaveLength(9);
  });

  const findingsOf = (...horizons: readonly Partial<typeof seen>[]) =>
    healthOf(
      sampleReport([
        sampleSlice({
          days: 3,
          metrics: [],
          change: { horizons: horizons.map((each) => Object.assign({}, seen, each)) },
        }),
      ]),
      null,
    );
  const supported = { supported_days: 12, supported_periods: 60, supported_moved: 1 };

  test('proposes a horizon for a metric that never becomes final, with what it would let through', () => {
    const endless = { ...supported, horizon_days: null, last_change_age: 31 };
    expect(findingsOf(endless)).toMatchObject({
      state: 'well',
      findings: [
        {
          message: 'daily: installs never becomes final; its totals last moved at age 31.',
          hint: 'Set `horizons: { installs: 12d }`: 1 of 60 totals moved later.',
        },
      ],
    });
    expect(findingsOf({ horizon_days: null }).findings).toEqual([]);
  });

  test('tells of final totals that moved in the last 14 days, and proposes a longer horizon if one covers them', () => {
    const moved = { final_moved: 9, last_moved_day: '2026-02-01' };
    expect(findingsOf({ ...moved, ...supported })).toMatchObject({
      state: 'watch',
      findings: [
        {
          message:
            'daily: 9 of 40 final totals of installs moved after its horizon of 7d, the latest found on 2026-02-01.',
          hint: 'Set `horizons: { installs: 12d }`: 1 of 60 totals moved later.',
        },
      ],
    });
    const corrected = { ...moved, supported_days: 7 };
    expect(findingsOf(corrected).findings).toMatchObject([{ hint: null }]);
    expect(findingsOf({ ...moved, last_moved_day: '2026-01-30' }).findings).toEqual([]);
    const restless = { ...moved, is_restless: true };
    expect(findingsOf(restless)).toMatchObject({ state: 'well', findings: [] });
    expect(findingsOf({ ...restless, ...supported })).toMatchObject({
      state: 'well',
      findings: [{ hint: 'Set `horizons: { installs: 12d }`: 1 of 60 totals moved later.' }],
    });
    const metrics = ['installs', 'clicks', 'cost'];
    expect(
      findingsOf(...metrics.map((metric) => Object.assign({ metric }, corrected))),
    ).toMatchObject({
      findings: [
        {
          message:
            'daily: final totals of installs and 2 other metrics moved after their horizons, the latest found on 2026-02-01.',
          hint: null,
        },
      ],
    });
  });

  test('names slices that lack or moved the same once', () => {
    const moved = { ...seen, final_moved: 9, last_moved_day: '2026-02-01' };
    const slices = ['daily', 'weekly', 'other'].map((name) =>
      sampleSlice({ name, days: 20, missing: [4], metrics: [], change: { horizons: [moved] } }),
    );
    expect(healthOf(sampleReport(slices), null).findings).toEqual([
      {
        message: 'daily and 2 other slices: 1 period never loaded, the oldest 2026-01-29.',
        hint: 'Run `ripen sync`.',
      },
      {
        message:
          'daily and 2 other slices: 9 of 40 final totals of installs moved after its horizon of 7d, the latest found on 2026-02-01.',
        hint: null,
      },
    ]);
    const changed = { window: null, code: 'FINAL_CHANGED', message: '1 final total changed.' };
    const warnings = slices.map(({ name: slice }) => Object.assign({ slice }, changed));
    expect(statusText(sampleReport(slices, { warnings })).match(/FINAL_CHANGED .*/g)).toEqual([
      expect.stringMatching(/ daily and 2 other slices +1 final total changed\.$/),
    ]);
  });
});
