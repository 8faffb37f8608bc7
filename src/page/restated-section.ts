/** What moved in a slice: night by night as bars, by metric and by period as tables; pure. */

import { MS_PER_DAY } from '../model/calendar.ts';
import type { RestatedNight, SliceStatus } from '../status/status-report.ts';
import { amountText, countText, groupedText, percentText } from '../terminal/measure.ts';
import { barChart, type Series } from './charts.ts';
import { heading, html, legend, type Markup, name, nothing, numberCell, numberHeading, table } from './html.ts';

/** As many colours as can be told apart; the others stand together. */
const MOST_SERIES = 4;
const OTHERS = 'other metrics';
/** Days of nights that are shown, whether anything moved or not. */
const NIGHTS = 30;

interface NamedSeries extends Series {
  readonly name: string;
}

/** The bars of the last 30 nights; nothing when nothing moved. */
export function restatedChart(slice: SliceStatus, asOf: string): Markup {
  const days = lastDays(asOf);
  const moved = slice.restated_nights.filter(({ seen_day: day }) => days.includes(day));
  if (moved.length === 0) return nothing;
  const total = sum(moved.flatMap(({ metrics }) => metrics.map(({ periods }) => periods)));
  const title = `${countText(total, 'total')} restated in ${moved.length} of the last ${NIGHTS} days`;
  const labels = days.map((day) => day.slice(5));
  const series = seriesOf(moved, days);
  const entries = series.map(({ name: word, values }, index) => ({
    fill: `series-${index + 1}`,
    word,
    figure: groupedText(sum(values)),
  }));
  return html`<figure>
    <figcaption>${title}, by the day it was found</figcaption>
    ${legend(entries)} ${barChart(title, labels, series)}
  </figure>`;
}

function lastDays(asOf: string): string[] {
  const last = Date.parse(`${asOf.slice(0, 10)}T00:00:00Z`);
  return Array.from({ length: NIGHTS }, (_, index) =>
    new Date(last - (NIGHTS - 1 - index) * MS_PER_DAY).toISOString().slice(0, 10),
  );
}

/** The metrics that moved most often, each with its bars, and all others as one. */
function seriesOf(nights: readonly RestatedNight[], days: readonly string[]): NamedSeries[] {
  const often = new Map<string, number>();
  for (const { metric, periods } of nights.flatMap(({ metrics }) => metrics)) {
    often.set(metric, (often.get(metric) ?? 0) + periods);
  }
  const ordered = [...often].toSorted(([, one], [, other]) => other - one).map(([metric]) => metric);
  const named = ordered.length > MOST_SERIES + 1 ? ordered.slice(0, MOST_SERIES) : ordered;
  const rest = ordered.filter((metric) => !named.includes(metric));
  const groups = [...named.map((metric) => ({ name: metric, metrics: [metric] })), { name: OTHERS, metrics: rest }];
  return groups
    .filter(({ metrics }) => metrics.length > 0)
    .map(({ name, metrics }, index) => ({
      name,
      colour: `--series-${index + 1}`,
      values: days.map((day) => {
        const night = nights.find(({ seen_day: seen }) => seen === day);
        return sum(
          (night?.metrics ?? []).filter(({ metric }) => metrics.includes(metric)).map(({ periods }) => periods),
        );
      }),
    }));
}

/** What moved in 7 days, and by how much: all metrics, and the ten totals that moved most. */
export function restatedTables({ restated, movers }: SliceStatus): Markup {
  if (restated.length === 0) return html`<p class="note">Nothing was restated in the last 7 days.</p>`;
  const metrics = restated.map(
    ({ metric, periods, first_values: first, before, after, change }) =>
      html`<tr>
        <th scope="row">${name(metric)}</th>
        ${numberCell(groupedText(periods))} ${amountCells(before, after, change, first === 0)}
      </tr> `,
  );
  const cells = movers.map(
    ({ metric, period, before, after, change }) =>
      html`<tr>
        <th scope="row">${name(metric)}</th>
        ${numberCell(period)} ${amountCells(before, after, change, before !== null)}
      </tr> `,
  );
  return html`<div class="side-by-side">
    ${amountTable('Restated in 7 days, by metric', 'periods', metrics)}
    ${amountTable('What moved most, by period', 'period', cells)}
  </div>`;
}

function amountTable(caption: string, second: string, rows: readonly Markup[]): Markup {
  const headings = [
    heading('metric'),
    ...[second, 'before', 'after', 'change'].map(numberHeading),
    numberHeading(html`<span class="unseen">change in percent</span>`),
  ];
  return table(headings, rows, {
    kind: 'amounts',
    caption: html`<caption>
      ${caption}
    </caption>`,
  });
}

function amountCells(before: number | null, after: number | null, change: number, isComparable: boolean): Markup[] {
  const share = !isComparable || before === null || before === 0 ? '' : percentText(change, before, 'signed');
  return [amountOrNone(before), amountOrNone(after), amountText(change, 'signed'), share].map(numberCell);
}

function amountOrNone(amount: number | null): string {
  return amount === null ? 'none' : amountText(amount);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
