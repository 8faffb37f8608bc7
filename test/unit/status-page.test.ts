import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { statusPage } from '../../src/report/page/page.ts';
import { Secret } from '../../src/config/secret.ts';
import type { SliceStatus, StatusReport } from '../../src/report/status/status-report.ts';
import {
  moneyOf,
  ripenedSlice,
  ripeningOf,
  sampleReport,
  sampleRun,
  sampleSlice,
} from '../support/status-sample.ts';
import { carriedOut, recordedShell } from './cli-recorded-shell.ts';

/** A report in which this text stands wherever a text from outside can. */
function reportOf(text: string): StatusReport {
  const failure = { code: text, slice: text, window: text, message: text, hint: text };
  const audit = { name: text, on_fail: 'hold', rows: 2, first: [{ column: text }], reason: text };
  return sampleReport([movedSlice(text, text)], {
    warehouse: text,
    runs: [
      sampleRun({
        run_id: text,
        command: text,
        status: text,
        exit_code: 75,
        failures: [failure],
        audits: [audit],
      }),
      sampleRun({ run_id: text, failures: [failure] }),
    ],
    warnings: [{ slice: text, window: text, code: text, message: text }],
    rejected_rows: [{ slice: text, window: text, reason: text, rows: 3 }],
  });
}

/** A slice of 50 days in which 7 metrics were restated in each of 2 nights. */
function movedSlice(name: string, metric: string): SliceStatus {
  const names = Array.from({ length: 7 }, (_, index) => `${metric}${index}`);
  const metrics = names.map((each) => ({ metric: each, periods: 4, change: -10 }));
  const moved = {
    periods: 4,
    first_values: 0,
    oldest_period: '2026-02-01',
    before: 4000,
    after: 3990,
    change: -10,
  };
  const change = {
    ...ripeningOf([metric]),
    building_periods: 2,
    restated: names.map((each) => ({ metric: each, ...moved })),
    movers: names.map((each) => ({
      metric: each,
      period: '2026-02-01',
      before: null,
      after: 7,
      change: 7,
    })),
    restated_nights: ['2026-02-12', '2026-02-14'].map((seenDay) => ({
      seen_day: seenDay,
      metrics,
    })),
  };
  const ripens = names.map((each, index) => ({ metric: each, horizonDays: 5 * index }));
  const slice = sampleSlice({ name, days: 50, metrics: ripens, missing: [3], change });
  return {
    ...slice,
    money: moneyOf(slice).map((series) => Object.assign(series, { metric, currency: name })),
  };
}

const wordsOf = (page: string): string =>
  page
    .replaceAll('<wbr>', '')
    .replaceAll(/<[^>]*>|\s+/g, ' ')
    .replaceAll(/ +/g, ' ');
const tagsOf = (page: string): string[] =>
  [...page.matchAll(/<(\/?[a-z][a-z0-9]*)/gi)].map(([, tag = '']) => tag);
const attributesOf = (page: string): string[] =>
  [...page.replaceAll(/"[^"]*"/g, '""').matchAll(/<[a-z][^<>]*>/gi)].flatMap(([tag]) =>
    [...tag.matchAll(/\s([a-z:-]+)=/gi)].map(([, name = '']) => name),
  );

describe('the page', () => {
  const page = statusPage(reportOf('plain'));

  test('loads nothing: it has no script, no frame, no address, and its links lead into itself', () => {
    expect(
      tagsOf(page).filter((tag) => /^(script|iframe|object|embed|img|link|base|form)$/i.test(tag)),
    ).toStrictEqual([]);
    expect(page).not.toMatch(/https?:|\/\/[a-z]|\ssrc=|@import|data:/i);
    expect([...page.matchAll(/href="([^"]*)"/g)].map(([, to]) => to)).toStrictEqual([
      '#slice-plain',
    ]);
    expect([...page.matchAll(/url\(([^)]*)\)/g)].map(([, to]) => to)).toStrictEqual([
      '#hatch-open',
      '#hatch-moving',
      '#hatch-missing',
      '#hatch-not-loaded',
    ]);
  });

  test('lets a browser load nothing but its one style sheet, by its hash, and so has no style attribute', () => {
    const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    expect(page).toContain(
      `content="default-src &#39;none&#39;; style-src &#39;sha256-${hash}&#39;; base-uri &#39;none&#39;; form-action &#39;none&#39;"`,
    );
    expect(page.match(/<style/g)).toHaveLength(1);
    expect(attributesOf(page).filter((name) => /^(style|on.*)$/i.test(name))).toStrictEqual([]);
  });

  test.each([
    '</title></style></svg><script>alert(1)</script>',
    '" onload="alert(1)" x="',
    "' style='color:red' ",
    '&lt;b&gt; &amp; <b>',
    ']]><!-- --><style>*{display:none}</style>',
  ])('has the same tags and attributes whatever the names are: %s', (name) => {
    const hostile = statusPage(reportOf(name));
    expect(tagsOf(hostile.replaceAll('<wbr>', ''))).toStrictEqual(
      tagsOf(page.replaceAll('<wbr>', '')),
    );
    expect(attributesOf(hostile)).toStrictEqual(attributesOf(page));
  });

  test('strips control characters and marks of direction, and scrubs secrets', () => {
    const secret = new Secret('marked-token-<&>-0815');
    const hostile = statusPage(reportOf(`a\u0007b\u202ec\u0000d ${secret.reveal()}`));
    expect(hostile).not.toMatch(/(?!\n)\p{Cc}|\p{Bidi_Control}/u);
    expect(hostile).toContain('abcd ***');
    expect(hostile).not.toContain('0815');
  });

  test('says first whether all is well, and what failed with its remedy', () => {
    const failure = {
      code: 'CREDENTIALS_REFUSED',
      slice: null,
      window: null,
      message: '401',
      hint: 'Renew the token.',
    };
    const runs = [sampleRun({ status: 'failed', exit_code: 78, failures: [failure] })];
    expect(wordsOf(statusPage(sampleReport([], { runs })))).toMatch(
      /ripen status \S+, as of 2026-02-14 03:00 UTC; ripen \S+ ✕ The last sync, as of 2026-02-14 02:30 UTC, failed. CREDENTIALS_REFUSED: 401 Renew the token./,
    );
  });
});

describe('the picture of finality', () => {
  const metrics = Array.from({ length: 40 }, (_, index) => ({
    metric: `metric_${index}`,
    horizonDays: 3 * (index % 7),
  }));

  test('draws 365 days of 40 metrics that ripen in 7 ways as 7 strips of 13 stretches, each saying its days', () => {
    const page = statusPage(sampleReport([sampleSlice({ days: 365, metrics })]));
    const strips = [...page.matchAll(/<svg class="strip"[\s\S]*?<\/svg>/g)].map(([strip]) => strip);
    expect(strips).toHaveLength(7);
    for (const strip of strips) {
      const widths = [...strip.matchAll(/\swidth="([\d.]+)%"/g)].map(([, width]) => Number(width));
      expect(widths.reduce((sum, width) => sum + width, 0)).toBeCloseTo(100, 2);
    }
    expect(strips.join('').match(/<rect/g)).toHaveLength(13);
    expect(page).toContain('<title>maturing, 2026-02-11 … 2026-02-13 (3 periods)</title>');
    const [names = ''] = /<th role="rowheader"[\s\S]*?<\/th>/.exec(page) ?? [];
    expect(wordsOf(names)).toBe(
      ' metric_0 +5 final after 0 days ' +
        [7, 14, 21, 28, 35].map((at) => `metric_${at} final after 0 days`).join(' ') +
        ' ',
    );
  });
});

describe('at the top, before the slices', () => {
  const wordsOfPage = (report: StatusReport): string => wordsOf(statusPage(report));

  test('how many totals agree with the service and since when; how many slices are not compared', () => {
    const slice = sampleSlice({ days: 9, metrics: [{ metric: 'installs', horizonDays: 3 }] });
    const control = { totals: 1240, moved_final: 0 };
    const read = (day: number, moved: number): SliceStatus['control'] => {
      return { ...control, read_at: `2026-02-${day}T02:30:00Z`, moved };
    };
    const slices = [
      { ...slice, control: read(14, 0) },
      { ...slice, control: read(13, 3) },
      { ...slice, no_control: '`control` is off' },
    ];
    expect(wordsOfPage(sampleReport(slices))).toMatch(
      /totals agree with the service, 2026-02-13 02:30 UTC; 1 slice without control totals 2,477 of 2,480/,
    );
    expect(wordsOfPage(sampleReport([slice]))).toContain('no control totals to compare');
  });

  test('the audits that failed or wait, with their first rows', () => {
    const first = [{ network: 'Northwind', spend: '120.5' }];
    const audits = [
      { name: 'd7_return', on_fail: 'hold', rows: 7, first, reason: null },
      {
        name: 'silent',
        on_fail: 'warn',
        rows: 0,
        first: [],
        reason: 'slice daily is not loaded yet',
      },
    ];
    const held = { code: 'AUDIT_HELD', slice: null, window: null, message: '', hint: null };
    const runs = [sampleRun({ audits, failures: [held] })];
    expect(wordsOfPage(sampleReport([], { runs }))).toContain('d7_return: holds the night back');
    expect(wordsOfPage(sampleReport([], { runs: [sampleRun({ audits })] }))).toMatch(
      /Audits d7_return: held the night back, published later 7 rows, the first 1: .*network spend Northwind 120.5 silent: waits slice daily is not loaded yet/,
    );
  });
});

describe('spend and revenue by day', () => {
  const slice = ripenedSlice('daily', 90);
  const page = statusPage(sampleReport([slice]));
  const barsOf = (kind: string): string[] =>
    [...page.matchAll(/<rect(?:(?!<rect)[\s\S])*?class="(final|moving)"\s*><title>(2\S+: [^<]*)</g)]
      .filter(([, drawn]) => drawn === kind)
      .map(([, , title = '']) => title);

  test('are bars of 60 days, those that may still change hatched, with the projection over them', () => {
    expect(barsOf('final')).toHaveLength(2 * 46);
    expect(barsOf('moving')).toHaveLength(2 * 14);
    expect(barsOf('final').every((title) => title.endsWith(', final'))).toBe(true);
    expect(barsOf('moving')[0]).toMatch(
      /^2026-01-31: [\d,.]+, may still change; projected ([\d,.]+) \([\d,.]+ … [\d,.]+\)$/,
    );
    expect(page.match(/<rect\s[^>]*class="series-2"/g)?.length).toBe(2 * 13 * 2 + 2);
  });

  test('are named with their metric and currency, and summed', () => {
    expect(wordsOf(page)).toMatch(
      /Spend by day: network_cost of daily, USD final [\d,]+ may still change [\d,]+ projected, with 80 % interval \+[\d,]+ /,
    );
    expect(wordsOf(page)).toContain('d0 of daily, the account&#39;s currency');
  });

  test('leave a gap for each day without data', () => {
    const [dropped, kept] = [slice.ages.at(-20)?.first_day, slice.ages.at(-21)?.first_day];
    const money = slice.money.map((series) =>
      Object.assign({}, series, {
        periods: series.periods.filter(({ first_day: day }) => day !== dropped),
      }),
    );
    const gap = statusPage(sampleReport([{ ...slice, money }]));
    const placeOf = (html: string): string | undefined =>
      new RegExp(`<rect\\s+x="([\\d.]+%)"(?:(?!<rect)[\\s\\S])*?<title>${kept ?? ''}`).exec(
        html,
      )?.[1];
    expect(placeOf(gap)).toBeDefined();
    expect(placeOf(gap)).toBe(placeOf(page));
    expect(gap).not.toContain(`<title>${dropped ?? ''}`);
  });

  test('leave none beside a first bucket of which only a part was requested', () => {
    const ages = slice.ages
      .slice(-1)
      .map((age) => Object.assign({}, age, { first_day: '2025-11-02', last_day: '2025-11-30' }));
    const money = slice.money.map((series) => {
      const periods = series.periods
        .slice(-1)
        .map((period) => Object.assign({}, period, { first_day: '2025-11-01' }));
      return { ...series, periods };
    });
    const cut = statusPage(sampleReport([{ ...slice, ages, money }]));
    // One bar of 80 % of the whole width.
    expect(cut.match(/width="80%"\s+height="[\d.]+%"\s+class="moving"/g)).toHaveLength(2);
  });
});

describe('ripen status --html', () => {
  let directory = '';

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ripen-page-'));
    const slice =
      '{ name: daily, dimensions: [day], metrics: [installs], date_period: "-9d:yesterday" }';
    await writeFile(
      join(directory, 'ripen.yaml'),
      `service: simulator\nwarehouse: w.duckdb\nslices: [${slice}]\n`,
    );
    return async () => rm(directory, { recursive: true });
  });

  test('puts the page whole in the place of an older one, with the rights the mask leaves, and prints where it is, or the report', async () => {
    const page = join(directory, 'status.html');
    await writeFile(page, 'old');
    const shell = recordedShell({ directory });
    expect(await carriedOut(shell, 'status', '--html', 'status.html')).toBe(0);
    await carriedOut(shell, 'status', '--html', 'status.html', '--json');
    expect(await readFile(page, 'utf8')).toMatch(/^<!doctype html>[\s\S]*<\/html>\n$/);
    expect((await stat(page)).mode & 0o777).toBe(0o644);
    expect(shell.printed[0]).toBe('There is no run yet.\nwritten to status.html');
    expect(JSON.parse(shell.printed[1] ?? '')).toMatchObject({ health: { state: 'watch' } });
    expect((await readdir(directory)).sort()).toStrictEqual(['ripen.yaml', 'status.html']);
  });

  test.each(['nowhere/status.html', 'folder'])(
    'to %s, where no file can be, is STORAGE_FAILED, and leaves nothing',
    async (path) => {
      const shell = recordedShell({ directory });
      await mkdir(join(directory, 'folder'));
      await expect(carriedOut(shell, 'status', '--html', path)).rejects.toMatchObject({
        code: 'STORAGE_FAILED',
      });
      expect((await readdir(directory)).sort()).toStrictEqual(['folder', 'ripen.yaml']);
    },
  );
});

test('each metric is explained in a closed list: its meaning, when it is final and by which rule; escaped', () => {
  const slice = sampleSlice({ days: 5, metrics: [{ metric: 'cost', horizonDays: 14 }] });
  const meaning = 'Spend <of> all & sundry (adds up over rows).';
  const metrics = slice.metrics.map((metric) => ({ ...metric, meaning }));
  const page = statusPage(sampleReport([{ ...slice, metrics }]));
  const [, list = ''] = page.split(
    /<details>\s*<summary>What each metric means, and when it is final<\/summary>/,
  );
  expect(wordsOf(list)).toMatch(
    /cost Spend &lt;of&gt; all &amp; sundry \(adds up over rows\)\. 14 days documented as cohort/,
  );
});

test('every mark of the page stands out from the paper by at least 3 : 1, and every text by 4.5 : 1, light and dark', () => {
  const page = statusPage(sampleReport([]));
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const schemes = [...page.matchAll(/:root \{([^}]*)\}/g)].map(
    ([, text = '']) =>
      new Map(
        [...text.matchAll(/--([\w-]+): (#[\da-f]{6})/g)].map(([, name = '', colour = '']) => [
          name,
          luminance(colour),
        ]),
      ),
  );
  expect(schemes).toHaveLength(2);
  const marks =
    'final maturing cut empty rejected gap well warn bad series-1 series-2 series-3 series-4'.split(
      ' ',
    );
  for (const colours of schemes) {
    const paper = colours.get('paper') ?? 0;
    const contrast = (name: string): number => {
      const own = colours.get(name) ?? paper;
      return (Math.max(own, paper) + 0.05) / (Math.min(own, paper) + 0.05);
    };
    expect(marks.filter((name) => contrast(name) < 3)).toStrictEqual([]);
    expect(
      ['ink', 'muted', 'link', 'well', 'warn', 'bad'].filter((name) => contrast(name) < 4.5),
    ).toStrictEqual([]);
  }
});

test('of 7 findings five are shown, then a count', () => {
  const slices = Array.from({ length: 7 }, (_, index) =>
    sampleSlice({ name: `slice_${index}`, days: 20, metrics: [], missing: [index] }),
  );
  expect(wordsOf(statusPage(sampleReport(slices)))).toMatch(
    /slice_4: 1 period never loaded, the oldest .* and 2 more .*slice_5: /,
  );
});

test('of 7 restated metrics five are shown, and the others open on a click', () => {
  const words = wordsOf(statusPage(sampleReport([ripenedSlice('daily', 20)])));
  expect(words).toMatch(/d4 4 4,000,000 3,990,000 -10,000 and 2 more metrics .*d5 4 4,000,000/);
});

test('there is one minus sign', () => {
  const moved = { metric: 'm', periods: 1, first_values: 0, oldest_period: '2026-02-01' };
  const restated = [{ ...moved, before: 1e7, after: 9_998_957, change: -1043 }];
  const slice = { ...sampleSlice({ days: 9, metrics: [] }), restated };
  expect(wordsOf(statusPage(sampleReport([slice])))).toContain('-1,043 -&lt;0.1 %');
});

test('a cube is drawn as a line for each month of cohorts, dashed from where it is not final', () => {
  const points = ['2026-01', '2026-02'].flatMap((month) =>
    [0, 1, 7].map((age) => {
      return { month, age_days: age, value: 100 + age, is_final: month === '2026-01' || age < 7 };
    }),
  );
  const change = { curves: [{ cohort: 'all_revenue_total', points }] };
  const cube = sampleSlice({ name: 'curve', days: 3, metrics: [], change });
  expect(statusPage(sampleReport([cube]))).toMatch(/<path\s[^>]*class="series-2 dashed"/);
});
