/** How a slice ripens as a text: maturation, the backtest of projections, audits; pure. */

import { FEWEST_PERIODS } from '../insight/development.ts';
import { AUDITED_DAYS } from '../status/ripening.ts';
import type { BacktestAge, MaturationAge, MetricHistory, SliceStatus } from '../status/status-report.ts';
import { countText, groupedText, percentText } from './measure.ts';
import { indented, tableText } from './table.ts';

/** What is shown besides the usual. */
export interface Shown {
  readonly maturation: boolean;
  readonly backtest: boolean;
}

export const shownUsually: Shown = { maturation: false, backtest: false };

/** Enough to see which; `--json` has them all. */
const NAMED = 5;

/** From nothing known to all: an eighth each. */
const bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** The sentence about final cells that were fetched again; none before the first. */
export function auditText({ audited }: SliceStatus): string[] {
  if (audited === null) return [];
  const { cells, periods, changed, drawn_periods: drawn, drawn_changed: wrong, wrong_share_below: below } = audited;
  const counted = `final cells fetched again in ${AUDITED_DAYS} days: ${groupedText(cells)} of ${countText(periods, 'period')}, ${groupedText(changed)} changed`;
  if (below === null) return [counted];
  const share = `fewer than ${roundedUp(100 * below)} % of the final cells drawn from were wrong`;
  return [
    `${counted}; of ${countText(drawn, 'period')} drawn at random ${percentText(wrong, drawn)}: with 95 % confidence ${share}`,
  ];
}

/** To two digits, never below what it is: 0.0241 is 0.025. */
function roundedUp(percent: number): number {
  const unit = 10 ** (Math.floor(Math.log10(percent)) - 1);
  return Number((Math.ceil(percent / unit) * unit).toPrecision(2));
}

/** The tables that were asked for, each under its title. */
export function ripeningLines(slice: SliceStatus, shown: Shown, terminal: number | null): string[] {
  return [
    ...(shown.maturation ? maturationLines(slice, terminal) : []),
    ...(shown.backtest ? backtestLines(slice, terminal) : []),
  ].map((line) => indented(line));
}

/** Why it is not known how values mature, one sentence for the metrics with the same reason; none where it is known of each. */
export function unknownMaturation({ maturation, histories }: SliceStatus): string[] {
  const unknown = histories.filter(
    ({ metric, horizon_days: horizon }) => horizon !== null && maturation.every((age) => age.metric !== metric),
  );
  const byReason = new Map<string, string[]>();
  for (const each of unknown) byReason.set(reasonOf(each), [...(byReason.get(reasonOf(each)) ?? []), each.metric]);
  if (histories.every(({ horizon_days: horizon }) => horizon === null))
    return ['no total of it was measured that becomes final'];
  return [...byReason].map(([reason, metrics]) => `${someNames(metrics)}: ${reason}`);
}

function reasonOf({ matured_periods: matured, most_at_one_age: most }: MetricHistory): string {
  if (matured === null || most === null) return 'not measured yet';
  const became = `${countText(matured, 'period')} became final after an earlier fetch`;
  if (matured < FEWEST_PERIODS) return `${became}; ${FEWEST_PERIODS} are needed`;
  if (most < FEWEST_PERIODS)
    return `${became}, at most ${most} of them fetched at the same age; ${FEWEST_PERIODS} are needed`;
  return `${became}; no age has ${FEWEST_PERIODS} of them with a total above zero and half of those that could be fetched at it`;
}

function someNames(names: readonly string[]): string {
  const more = names.length - NAMED;
  return `${names.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function maturationLines(slice: SliceStatus, terminal: number | null): string[] {
  const { maturation } = slice;
  const unknown = unknownMaturation(slice).map((reason) => `maturation not known yet: ${reason}`);
  if (maturation.length === 0) return unknown;
  const rows = maturation.map((age) => [
    age.metric,
    String(age.age_days),
    groupedText(age.periods),
    barOf(age),
    percentText(age.share_q25, 1),
    percentText(age.share_median, 1),
    percentText(age.share_q75, 1),
  ]);
  const columns = [
    { title: 'known of the final total', shrinks: true },
    ...(['age', 'periods'] as const).map((title) => ({ title, align: 'right' as const })),
    { title: '' },
    ...(['quarter', 'half', 'three quarters'] as const).map((title) => ({ title, align: 'right' as const })),
  ];
  return [...tableText(columns, rows, terminal).split('\n'), ...unknown];
}

/** A bar as high as the median share. */
function barOf({ share_median: share }: MaturationAge): string {
  return bars[Math.max(0, Math.min(bars.length - 1, Math.round(share * bars.length) - 1))] ?? '';
}

function backtestLines(slice: SliceStatus, terminal: number | null): string[] {
  const { backtest } = slice;
  if (backtest.length === 0) return unknownMaturation(slice).map((reason) => `no backtest yet: ${reason}`);
  const share = (of: number | null): string => (of === null ? '' : percentText(of, 1));
  const rows = backtest.map((age) => [
    age.metric,
    String(age.age_days),
    groupedText(age.cohorts),
    share(age.median_abs_error),
    share(age.median_abs_error_as_is),
    share(age.coverage),
    projectedText(age),
  ]);
  const columns = [
    { title: 'median error of projections', shrinks: true },
    ...(['age', 'periods', 'projected', 'as is', 'in interval'] as const).map((title) => ({
      title,
      align: 'right' as const,
    })),
    { title: '', shrinks: true },
  ];
  return tableText(columns, rows, terminal).split('\n');
}

/** Whether a metric is projected at an age, and if not, why. */
export const projectedText = ({ reason }: BacktestAge): string =>
  reason === null ? 'projected' : `not projected: ${reason}`;
