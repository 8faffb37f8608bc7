/** The pictures of a slice. */

import { amountText } from '../../model/measure.ts';
import type { MoneyPeriod, MoneySeries, SliceStatus } from '../status/status-report.ts';
import { alike } from '../../model/alike.ts';
import { MATURATION_TITLE } from '../terminal/status-facts.ts';
import { type Table } from '../terminal/table.ts';
import { barChart, type Line, lineChart } from './charts.ts';
import { html, legend, type Markup, nothing } from './html.ts';

/** As many lines as can be distinguished; the table has the other metrics. */
const MAX_LINES = 4;

function figure(title: string, entries: Parameters<typeof legend>[0], chart: Markup) {
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${legend(entries)}${chart}
  </figure> `;
}

const grainOf = ({ ages }: SliceStatus): 'day' | 'period' =>
  ages.every((period) => period.first_day === period.last_day) ? 'day' : 'period';

/** `of` ends the titles. */
export function moneyCharts(slice: SliceStatus, of: string): Markup[] {
  const grain = grainOf(slice);
  return slice.money.map(({ flow, metric, currency, periods }) => {
    const title = `${flow === 'spend' ? 'Spend' : 'Revenue'} by ${grain}: ${metric}${of}, ${currency ?? "the account's currency"}`;
    const final = periods.filter((period) => period.is_final);
    const moving = periods.filter((period) => !period.is_final);
    const isProjected = moving.some((period) => period.projected !== null);
    const sumOf = (shown: MoneySeries['periods']) =>
      shown.reduce((sum, { value }) => sum + value, 0);
    const growth = moving.reduce(
      (sum, { value, projected }) => sum + (projected ?? value) - value,
      0,
    );
    const entries = [{ fill: 'final', word: 'final', figure: amountText(sumOf(final)) }];
    if (moving.length > 0)
      entries.push({ fill: 'moving', word: 'may still change', figure: amountText(sumOf(moving)) });
    if (isProjected)
      entries.push({
        fill: 'series-2',
        word: 'projected, with 80 % interval',
        figure: amountText(growth, 'signed'),
      });
    const since = periods[0]?.first_day ?? '';
    // A bucket that the date period cuts begins before its first day that is requested.
    const starts = slice.ages.map(({ first_day: day, last_day: last }, at) => {
      const before = slice.ages[at - 1]?.last_day ?? '';
      return (
        periods.find(({ first_day: start }) => start > before && start <= last)?.first_day ?? day
      );
    });
    const days = [...new Set([...periods.map((period) => period.first_day), ...starts])]
      .filter((day) => day >= since)
      .toSorted();
    const bars = periods.map((period) => {
      const { first_day: day, value, is_final: isFinal } = period;
      const expected = projectionText(period);
      const text = `${day}: ${amountText(value)}, ${isFinal ? 'final' : 'may still change'}`;
      const more = expected === '' ? '' : `; projected ${expected}`;
      return { ...period, place: days.indexOf(day), text: `${text}${more}` };
    });
    const labels = days.map((day) => (grain === 'day' ? day.slice(5) : day));
    return figure(title, entries, barChart(title, labels, bars));
  });
}

const projectionText = ({ projected, low, high }: MoneyPeriod) =>
  projected === null || low === null || high === null
    ? ''
    : `${amountText(projected)} (${amountText(low)} … ${amountText(high)})`;

export function moneyTable(slice: SliceStatus): Table {
  const { money } = slice;
  const moving = money.flatMap(({ periods }) => periods.filter((period) => !period.is_final));
  const days = [...new Set(moving.map((period) => period.first_day))].toSorted().toReversed();
  return {
    title: 'What may still change, and what to expect',
    columns: [grainOf(slice), ...money.flatMap(({ metric }) => [`#${metric}`, '#projected'])],
    rows: days.map((day) =>
      [day].concat(
        money.flatMap(({ periods }) => {
          const period = periods.find(({ first_day: at }) => at === day);
          if (period === undefined) return ['', ''];
          return [amountText(period.value), period.is_final ? 'final' : projectionText(period)];
        }),
      ),
    ),
  };
}

export function curveCharts({ curves }: SliceStatus): Markup[] {
  return curves.map(({ cohort, points }) => {
    const months = alike(points, ({ month }) => month);
    const lines = months.flatMap((ofMonth, index): Line[] => {
      const final = ofMonth.findIndex((point) => !point.is_final);
      const points = ofMonth.map(({ age_days: age, value }) => [age, value] as const);
      const colour = index + 1;
      if (final === -1) return [{ colour, points }];
      const open = points.slice(Math.max(0, final - 1));
      return [
        { colour, points: points.slice(0, final) },
        { colour, points: open, isDashed: true },
      ];
    });
    const title = `${cohort} by age in days, a line for each month; dashed where it is not final`;
    const entries = months.map((ofMonth, index) => ({
      fill: `series-${index + 1}`,
      word: ofMonth[0].month,
      figure: amountText(ofMonth.at(-1)?.value ?? 0),
    }));
    return figure(title, entries, lineChart(title, lines));
  });
}

export function maturationChart({ maturation }: SliceStatus): Markup {
  if (maturation.length === 0) return nothing;
  const oldest = Math.max(...maturation.map(({ age_days: age }) => age));
  const curves = alike(maturation, ({ metric }) => metric).map((known) => {
    const points = known.map(
      ({ age_days: age, share_median: share }) => [age, Math.round(1000 * share) / 10] as const,
    );
    const missing = points.reduce((sum, [, percent]) => sum + 100 - percent, 0);
    return { metric: known[0].metric, points, missing };
  });
  const slowest = alike(
    curves.toSorted((one, other) => other.missing - one.missing),
    ({ points }) => points.join(),
  ).slice(0, MAX_LINES);
  const lines = slowest.map(([{ points }], index): Line => {
    const [last = 0] = points.at(-1) ?? [];
    // At the next age a metric's total was final, that is 100 %; nothing is known before its first age.
    const rest = last < oldest ? [last + 1, oldest].map((age) => [age, 100] as const) : [];
    return { colour: index + 1, points: [...points, ...rest] };
  });
  const entries = slowest.map(([{ metric, points }, ...others], index) => {
    const [[age, share] = [0, 0]] = points;
    const word = others.length === 0 ? metric : `${metric} +${others.length}`;
    return { fill: `series-${index + 1}`, word, figure: `${share} % at ${age}` };
  });
  return figure(MATURATION_TITLE, entries, lineChart(MATURATION_TITLE, lines));
}
