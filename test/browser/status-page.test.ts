/** The status page in a browser: empty, after the tour, and as large as it gets, in two widths, light and dark. */

import { writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { statusPage } from '../../src/report/page/page.ts';
import { openBrowser, openTour, windows, type Browser } from '../support/browser.ts';
import type { Installation } from '../support/installation.ts';
import { ripenedSlice, sampleReport, sampleRun } from '../support/status-sample.ts';

/** Of the largest page, beside a busy machine. */
const MAX_MS = 5000;
/** What a browser takes as one picture. */
const MAX_PICTURED = 12_000;

let browser: Browser;
let installation: Installation;

beforeAll(async () => {
  browser = await openBrowser();
  installation = await openTour();
  const slice = {
    name: 'daily',
    dimensions: ['day'],
    metrics: ['installs'],
    date_period: '-9d:yesterday',
  };
  await installation.configure({ service: 'simulator', warehouse: 'w.duckdb', slices: [slice] });
  await installation.run(['status', '--html', 'empty.html']);
  const slices = Array.from({ length: 10 }, (_, index) =>
    ripenedSlice(`network_partner_campaign_daily_${index}`, 1096),
  );
  const failure = {
    code: 'SOURCE_TIMEOUT',
    slice: slices[0]?.name ?? '',
    window: '2026-02-01:2026-02-07',
  };
  const runs = ['succeeded', 'partial', 'failed', 'succeeded'].map((status, index) =>
    sampleRun({
      status,
      as_of: `2026-02-${14 - index}T02:30:00.000Z`,
      failures:
        status === 'failed'
          ? [{ ...failure, message: 'no answer in 1000 s', hint: 'Split the slice.' }]
          : [],
    }),
  );
  await writeFile(installation.path('large.html'), statusPage(sampleReport(slices, { runs })));
  const many = Array.from({ length: 120 }, (_, index) => ripenedSlice(`daily_${index}`, 400));
  await writeFile(installation.path('many.html'), statusPage(sampleReport(many)));
});
afterAll(async () => {
  await browser.close();
  await installation.close();
});

describe.each([
  { page: 'empty.html', what: 'before any run', texts: 10, marks: 1 },
  { page: 'data/status.html', what: 'after the tour', texts: 200, marks: 30 },
  { page: 'large.html', what: 'of 3 years and 10 slices of 40 metrics', texts: 1000, marks: 1000 },
])('the page $what', ({ page: file, texts, marks }) => {
  test.each(windows)(
    `at $width px, $scheme, has nothing cut, covered, pale or beside the window`,
    async (window) => {
      const page = await browser.open(pathToFileURL(installation.path(file)).href, window);
      await page.value('for (const each of document.querySelectorAll("details")) each.open = true');
      const found = await page.inspect();
      await page.picture(`status-${file.replaceAll(/\W/g, '-')}`, MAX_PICTURED);
      await page.close();
      expect(page.errors).toStrictEqual([]);
      expect(found.complaints).toStrictEqual([]);
      expect(found.texts).toBeGreaterThan(texts);
      expect(found.marks).toBeGreaterThan(marks);
      expect(page.tookMs).toBeLessThan(MAX_MS);
    },
  );
});

test('120 slices are shown soon, and nothing of their overview is cut at 400 px', async () => {
  const url = pathToFileURL(installation.path('many.html')).href;
  const page = await browser.open(url, { width: 400, scheme: 'light' });
  const shownMs = await page.value(
    `performance.getEntriesByType('paint').find(({ name }) => name === 'first-contentful-paint').startTime`,
  );
  const cut = await page.value(
    `[...document.querySelectorAll('.overview tr')].filter((row) => row.getBoundingClientRect().right > innerWidth).length`,
  );
  await page.close();
  expect(Number(shownMs)).toBeLessThan(MAX_MS);
  expect(cut).toBe(0);
});

test('a keyboard reaches every link, every list that opens and every table that scrolls', async () => {
  const url = pathToFileURL(installation.path('large.html')).href;
  const page = await browser.open(url, { width: 400, scheme: 'light' });
  await page.value('for (const each of document.querySelectorAll("details")) each.open = true');
  const unreached = await page.value(`[...document.querySelectorAll('*')].filter((each) => {
    const isWider = each.scrollWidth > each.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(each).overflowX);
    return (isWider || ['A', 'SUMMARY'].includes(each.tagName)) && each.tabIndex < 0;
  }).map((each) => each.outerHTML.slice(0, 80))`);
  await page.close();
  expect(unreached).toStrictEqual([]);
});

test('the overview of the slices has its last column in view at 400, 900, 1060 and 1200 px', async () => {
  for (const width of [400, 900, 1060, 1200]) {
    const page = await browser.open(pathToFileURL(installation.path('large.html')).href, {
      width,
      scheme: 'light',
    });
    const hidden = await page.value(
      `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.overview').parentElement)`,
    );
    expect([width, hidden]).toStrictEqual([width, 0]);
    await page.close();
  }
});
