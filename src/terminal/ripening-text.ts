/** How a slice ripens as a text: maturation, the backtest of projections, audits; pure. */

import { FEWEST_PERIODS } from '../insight/development.ts';
import type { MaturationAge, SliceStatus } from '../status/status-report.ts';
import { countText, groupedText, percentText } from './measure.ts';
import { indented, tableText } from './table.ts';

/** What is shown besides the usual. */
export interface Shown {
  readonly maturation: boolean;
  readonly backtest: boolean;
}

export const shownUsually: Shown = { maturation: false, backtest: false };

/** From nothing known to all: an eighth each. */
const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** The sentence about final cells that were asked for again; none before the first. */
export function auditText({ audited }: SliceStatus): string[] {
  if (audited === null) return [];
  const { cells, periods, changed, wrong_share_below: below } = audited;
  const share = `${roundedUp(100 * below)} %`;
  return [
    `final cells checked again: ${groupedText(cells)} of ${countText(periods, 'period')}, ${groupedText(changed)} changed; with 95 % confidence fewer than ${share} are wrong`,
  ];
}

/** To one digit, never below what it is: 0.024 is 0.03. */
function roundedUp(percent: number): number {
  const unit = 10 ** Math.floor(Math.log10(percent));
  return Number((Math.ceil(percent / unit) * unit).toPrecision(1));
}

/** The tables that were asked for, each under its title. */
export function ripeningLines(slice: SliceStatus, shown: Shown, terminal: number | null): string[] {
  return [
    ...(shown.maturation ? maturationLines(slice, terminal) : []),
    ...(shown.backtest ? [...backtestLines(slice, terminal), ...adaptiveLines(slice, terminal)] : []),
  ].map((line) => indented(line));
}

export const TOO_LITTLE = `too little history: fewer than ${FEWEST_PERIODS} periods became final after they had been fetched before`;

function maturationLines({ maturation }: SliceStatus, terminal: number | null): string[] {
  if (maturation.length === 0) return [`maturation: ${TOO_LITTLE}`];
  const rows = maturation.map((age) => [
    age.metric,
    String(age.age_days),
    groupedText(age.periods),
    barOf(age),
    ...[age.share_q25, age.share_median, age.share_q75].map((share) => percentText(share, 1)),
  ]);
  const columns = [
    { title: 'known of the final total', shrinks: true },
    ...(['age', 'periods'] as const).map((title) => ({ title, align: 'right' as const })),
    { title: '' },
    ...(['quarter', 'half', 'three quarters'] as const).map((title) => ({ title, align: 'right' as const })),
  ];
  return tableText(columns, rows, terminal).split('\n');
}

/** A bar as high as the median share. */
function barOf({ share_median: share }: MaturationAge): string {
  return bars[Math.max(0, Math.min(bars.length - 1, Math.round(share * bars.length) - 1))] ?? '';
}

function backtestLines({ backtest }: SliceStatus, terminal: number | null): string[] {
  if (backtest.length === 0) return [`backtest: ${TOO_LITTLE}`];
  const share = (of: number | null): string => (of === null ? '' : percentText(of, 1));
  const rows = backtest.map((age) => [
    age.metric,
    String(age.age_days),
    groupedText(age.cohorts),
    share(age.median_abs_error),
    share(age.median_abs_error_as_is),
    share(age.median_abs_error_average_share),
    share(age.coverage),
    age.method ?? `not projected: ${age.reason ?? ''}`,
  ]);
  const columns = [
    { title: 'median error of projections', shrinks: true },
    ...(['age', 'periods', 'projected', 'as is', 'average share', 'in interval'] as const).map((title) => ({
      title,
      align: 'right' as const,
    })),
    { title: 'method', shrinks: true },
  ];
  return tableText(columns, rows, terminal).split('\n');
}

export const adaptiveHeadings = [
  'refresh: adaptive within',
  'leaves out ages',
  'period fetches saved',
  'rows saved',
  'totals off until the next',
  'at most',
] as const;

/** What each tolerance would have left out and cost, under those headings; nothing where even the largest leaves out no age. */
export function adaptiveRows({ adaptive }: SliceStatus): string[][] {
  if (adaptive.every(({ ages_left_out: ages }) => ages.length === 0)) return [];
  const part = (some: number, all: number): string => `${groupedText(some)} of ${groupedText(all)}`;
  return adaptive.map((each) => [
    `${percentText(each.tolerance, 1)}${each.is_configured ? ' (configured)' : ''}`,
    each.ages_left_out.length === 0 ? 'none' : each.ages_left_out.join(', '),
    part(each.fetches_left_out, each.fetches),
    part(each.rows_left_out, each.rows),
    part(each.totals_differed, each.totals),
    each.most_differed === null ? '' : percentText(each.most_differed, 1),
  ]);
}

function adaptiveLines(slice: SliceStatus, terminal: number | null): string[] {
  const rows = adaptiveRows(slice);
  if (rows.length === 0) return [];
  const [tolerance, ages, ...figures] = adaptiveHeadings;
  const columns = [
    { title: tolerance },
    { title: ages, shrinks: true },
    ...figures.map((title) => ({ title, align: 'right' as const })),
  ];
  return tableText(columns, rows, terminal).split('\n');
}
