/** Half a year of nights: what ripen fetches, beside what people do without it, and whether final means final. */

import { expect, test } from 'vitest';

import { percentText } from '../../src/model/measure.ts';
import { passNights, type Outcome, type Setting } from './nights/pass-nights.ts';
import { densities, densityRows } from './nights/density.ts';
import { everythingImmature, lookback, ripen, SLOW_ROWS } from './nights/policy.ts';
import { syncNights, type SyncedNights } from './nights/run-sync.ts';
import { usualMetrics, HISTORY_DAYS, nightsFromStart, TRUTH_AFTER_DAYS } from './nights/setting.ts';
import { grouped, rounded } from './support/figures.ts';
import { type FoundTable, publishSection } from './support/section.ts';
import { scaled } from './support/scale.ts';

const NIGHTS = scaled(180, 40);
const SYNCED_NIGHTS = scaled(45, 8);
const LOOKBACK_DAYS = 30;
/** Runs at the end of the nights in which the oldest periods are final already. */
const LATE_RUNS = 50;

/** What ripen may fetch at most, as a share of the report rows of the other ways; few nights hardly tell them apart. */
const MAX_OF_IMMATURE = scaled(0.14, 1);
const MAX_OF_LOOKBACK = scaled(0.53, 1);
const MAX_OF_USUAL_LOOKBACK = scaled(0.47, 1);

const setting = nightsFromStart(NIGHTS);

test(`${NIGHTS} nights from a fixed start: ripen asks for a fraction, and what it calls final is final`, async () => {
  const outcomes = passNights(
    [
      ripen('ripen', 'milestones', SLOW_ROWS),
      lookback(LOOKBACK_DAYS),
      everythingImmature(),
      ripen('ripen, `refresh: nightly`', 'nightly', SLOW_ROWS),
    ],
    setting,
  );
  const [milestones, recent, immature, nightly] = outcomes;
  const usual = passNights(
    [ripen('ripen', 'milestones', SLOW_ROWS), lookback(LOOKBACK_DAYS)],
    nightsFromStart(NIGHTS, usualMetrics),
  );
  const [usualMilestones, usualRecent] = usual;
  const synced = await syncNights(setting, setting.nights.slice(0, SYNCED_NIGHTS));

  const shareOfImmature = milestones.rows / immature.rows;
  const shareOfLookback = milestones.rows / recent.rows;
  const usualShare = usualMilestones.rows / usualRecent.rows;
  publishSection({
    name: 'maturity',
    title: 'What a night fetches, and whether final means final',
    paragraphs: [
      ...paragraphs(setting, synced, { milestones, recent, immature }),
      `With the metrics of an ordinary report by network (${usualMetrics.join(', ')}), the latest of which is final after 31 days, ripen requested ${percentText(usualMilestones.rows, usualRecent.rows)} of the rows of the last ${LOOKBACK_DAYS} days.`,
    ],
    tables: [
      policiesTable(outcomes, immature, recent),
      frozenTable(recent),
      reasonsTable(milestones),
      agesTable(milestones),
      densityTable(),
    ],
    figures: {
      ripen_rows: milestones.rows,
      immature_rows: immature.rows,
      lookback_rows: recent.rows,
      ripen_share_of_immature: rounded(shareOfImmature, 4),
      ripen_share_of_lookback: rounded(shareOfLookback, 4),
      usual_share_of_lookback: rounded(usualShare, 4),
      late_share_of_immature: rounded(lateRows(milestones) / lateRows(immature), 4),
      late_share_of_lookback: rounded(lateRows(milestones) / lateRows(recent), 4),
      final_cells: milestones.finalCells,
      wrong_final_cells: milestones.wrongFinalCells + synced.wrongFinalCells,
      lookback_frozen_cells: total(recent.frozenCells),
      lookback_settled_cells: recent.settledCells,
    },
  });

  expect([...outcomes, ...usual].filter(({ wrongFinalCells }) => wrongFinalCells > 0)).toEqual([]);
  const refreshing = [milestones, immature, nightly];
  expect(refreshing.filter(({ lateCells }) => lateCells > 0)).toEqual([]);
  expect(refreshing.filter(({ frozenCells }) => total(frozenCells) > 0)).toEqual([]);
  expect(milestones.finalCells).toBeGreaterThan(0);
  expect(nightly.nights).toEqual(immature.nights);

  expect(synced.failures).toBe(0);
  // The first answer of an unknown slice sizes its other windows, which only the pipeline has.
  expect(synced.nights.slice(1)).toEqual(milestones.nights.slice(1, SYNCED_NIGHTS));
  expect(synced.wrongFinalCells).toBe(0);
  expect(synced.finalCells).toBeGreaterThan(0);

  expect(total(recent.frozenCells)).toBeGreaterThan(0);
  expect(shareOfLookback).toBeLessThanOrEqual(MAX_OF_LOOKBACK);
  expect(usualShare).toBeLessThanOrEqual(MAX_OF_USUAL_LOOKBACK);
  expect(shareOfImmature).toBeLessThanOrEqual(MAX_OF_IMMATURE);
});

function paragraphs(
  { slice, nights }: Setting,
  synced: SyncedNights,
  { milestones, recent, immature }: Record<'milestones' | 'recent' | 'immature', Outcome>,
): string[] {
  return [
    `${NIGHTS} consecutive nights over the simulated world, ${nights.length} of them with a run: single nights are missing by chance, and a week by an outage. One slice by ${slice.dimensions.join(', ')}, ${slice.metrics.length} metrics (${slice.metrics.join(', ')}), a date period from ${HISTORY_DAYS} days before the first night to yesterday. Conversion values are left out, as they are not reported by country: in a slice of their own they ask for one period more a night. A cell is one metric of one row; the truth is what the service says ${TRUTH_AFTER_DAYS} days later. Windows are as large under every policy, and rows are taken to cost so much more than requests that none is requested along. Control totals are left out: what they add depends on how often the service corrects. All of it is counted, none timed.`,
    `The first ${SYNCED_NIGHTS} runs were also made by the real pipeline, over HTTP into DuckDB: the same requests and rows, run by run, and ${grouped(synced.finalCells)} cells in the \`_final\` view, ${grouped(synced.wrongFinalCells)} of them other than the truth.`,
    `In the last ${LATE_RUNS} runs, when the oldest periods are final already, ripen requested ${percentText(lateRows(milestones), lateRows(immature))} of the rows of everything immature, and ${percentText(lateRows(milestones), lateRows(recent))} of those of the last ${LOOKBACK_DAYS} days.`,
  ];
}

function policiesTable(
  outcomes: readonly Outcome[],
  immature: Outcome,
  recent: Outcome,
): FoundTable {
  return {
    caption: `Fetched in ${setting.nights.length} runs. A cell is late when a run at or past its horizon left it unfinal, counted per period, metric and run; frozen when it is wrong and will never be requested again.`,
    columns: [
      'policy, each night',
      'requests',
      'report rows',
      'of everything immature',
      `of the last ${LOOKBACK_DAYS} days`,
      'final and wrong',
      'late',
      'frozen',
    ],
    rows: outcomes.map((outcome) => [
      outcome.policy,
      grouped(outcome.requests),
      grouped(outcome.rows),
      percentText(outcome.rows, immature.rows),
      percentText(outcome.rows, recent.rows),
      grouped(outcome.wrongFinalCells),
      grouped(outcome.lateCells),
      grouped(total(outcome.frozenCells)),
    ]),
  };
}

function frozenTable(recent: Outcome): FoundTable {
  const cellsPerMetric = recent.settledCells / setting.metrics.length;
  return {
    caption: `What the fixed look-back leaves behind: cells older than ${LOOKBACK_DAYS} days that differ from the truth, of ${grouped(cellsPerMetric)} per metric.`,
    columns: ['metric', 'frozen cells', 'share'],
    rows: [...recent.frozenCells]
      .filter(([, cells]) => cells > 0)
      .map(([metric, cells]) => [metric, grouped(cells), percentText(cells, cellsPerMetric)]),
  };
}

function reasonsTable(outcome: Outcome): FoundTable {
  return {
    caption: "ripen's rows by the reason their period was due.",
    columns: ['reason', 'report rows', 'share'],
    rows: [...outcome.rowsByReason]
      .sort(([, a], [, b]) => b - a)
      .map(([reason, rows]) => [reason, grouped(rows), percentText(rows, outcome.rows)]),
  };
}

/** Ages that stand for at least this share of the rows are shown by themselves. */
const MIN_SHARE = 0.01;

function agesTable(outcome: Outcome): FoundTable {
  const ages = [...outcome.rowsByAge].sort(([a], [b]) => a - b);
  const shown = ages.filter(([, rows]) => rows >= outcome.rows * MIN_SHARE);
  const others = outcome.rows - shown.reduce((sum, [, rows]) => sum + rows, 0);
  return {
    caption:
      "ripen's rows by the age of their period in days; other ages make up for nights without a run.",
    columns: ['age', 'report rows', 'share'],
    rows: [
      ...shown.map(([age, rows]) => [String(age), grouped(rows), percentText(rows, outcome.rows)]),
      ['others', grouped(others), percentText(others, outcome.rows)],
    ],
  };
}

function densityTable(): FoundTable {
  return {
    caption: `The same slice with so many rows a day, a night in the long run, if a report takes 400 ms and 1 ms a row. Where rows are few, ripen requests the days between two due ones with them: requests count then, not rows. Seconds are those of all reports together.`,
    columns: ['rows a day', 'policy, each night', 'requests', 'report rows', 'seconds of reports'],
    rows: densities.flatMap((perDay) =>
      densityRows(perDay, setting).map(({ policy, requests, rows, seconds }) => [
        grouped(perDay),
        policy,
        rounded(requests, 1).toString(),
        grouped(Math.round(rows)),
        rounded(seconds, 1).toString(),
      ]),
    ),
  };
}

function lateRows(outcome: Outcome): number {
  return outcome.nights.slice(-LATE_RUNS).reduce((sum, { rows }) => sum + rows, 0);
}

function total(cells: ReadonlyMap<string, number>): number {
  return [...cells.values()].reduce((sum, count) => sum + count, 0);
}
