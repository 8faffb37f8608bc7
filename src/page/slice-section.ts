/** One slice on the status page: its finality, its rows, what moved, its periods; pure. */

import { cellWords } from '../status/picture.ts';
import type { MoneyMetric, PeriodStatus, SliceStatus } from '../status/status-report.ts';
import { amountText, countText, groupedText, minuteText, percentText } from '../terminal/measure.ts';
import { areaChart, barChart } from './charts.ts';
import { finalityMap } from './finality-map.ts';
import { foldedTable, heading, html, legend, type Markup, nothing, numberCell, numberHeading } from './html.ts';
import { maturationSection } from './maturation-section.ts';
import { restatedChart, restatedTables } from './restated-section.ts';

/** Two months of days; the JSON form has them all. */
const MOST_PERIODS_LISTED = 62;
/** More points than the drawing has pixels. */
const MOST_POINTS = 480;

/** The section with its pictures; one sentence for a slice that was never loaded. */
export function sliceSection(slice: SliceStatus, asOf: string): Markup {
  return html`<section aria-labelledby="slice-${slice.name}">
    <h2 id="slice-${slice.name}">${slice.name}</h2>
    ${building(slice)} ${slice.newest_fetch_at === null ? html`<p class="note">It was never loaded.</p>` : nothing}
    ${finalityMap(slice)} ${slice.newest_fetch_at === null ? nothing : loaded(slice, asOf)} ${periodsList(slice.ages)}
  </section> `;
}

function loaded(slice: SliceStatus, asOf: string): Markup {
  return html`${moneyCharts(slice)}
    <div class="side-by-side">${rowsChart(slice)} ${restatedChart(slice, asOf)}</div>
    ${restatedTables(slice)} ${unmatchedNote(slice)} ${maturationSection(slice)}`;
}

function unmatchedNote({ name, unmatched }: SliceStatus): Markup {
  if (unmatched === null || unmatched.rows === 0) return nothing;
  const { days, rows, unmatched_rows: without, names } = unmatched;
  if (without === 0) return html`<p class="note">Every row of the last ${days} days found its link or partner.</p>`;
  const named = names.map((each) => `${each.name ?? 'without a name'} ${groupedText(each.unmatched_rows)}`).join(', ');
  return html`<p class="note">
    ${groupedText(without)} of ${countText(rows, 'row')} of the last ${days} days (${percentText(without, rows)}) found
    no link or partner: ${named}. See <code>${name}_links</code>.
  </p>`;
}

function building({ building_periods: building }: SliceStatus): Markup {
  if (building === null) return nothing;
  return html`<p class="note">
    Its meaning changed: ${countText(building, 'period')} of the new table loaded, the old one is served.
  </p>`;
}

function rowsChart({ ages }: SliceStatus): Markup {
  const together = Math.ceil(ages.length / MOST_POINTS);
  const groups = Array.from({ length: Math.ceil(ages.length / together) }, (_, index) =>
    ages.slice(index * together, (index + 1) * together),
  );
  const rows = groups.map((group) => group.reduce((sum, period) => sum + (period.rows ?? 0), 0));
  const labels = groups.map((group) => (group.at(0)?.first_day ?? '').slice(5));
  const title = `Rows per ${together === 1 ? 'period' : `${together} periods`}: ${groupedText(Math.min(...rows))} to ${groupedText(Math.max(...rows))}`;
  const series = { colour: '--series-1', values: rows };
  // A line through five points says less than five bars.
  const chart = rows.length > 40 ? areaChart(title, labels, series) : barChart(title, labels, [series]);
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${chart}
  </figure>`;
}

function periodsList(ages: readonly PeriodStatus[]): Markup {
  if (ages.length === 0) return nothing;
  const listed = ages.slice(-MOST_PERIODS_LISTED).toReversed();
  const rows = listed.map(
    (period) =>
      html`<tr>
        <th scope="row">${daysText(period)}</th>
        ${numberCell(period.age_days <= 0 ? '' : countText(period.age_days, 'day'))}
        <td>${cellWords[period.state]}</td>
        ${numberCell(period.rows === null ? '' : groupedText(period.rows))}
        ${numberCell(period.rejected === null || period.rejected === 0 ? '' : groupedText(period.rejected))}
        <td>${period.fetched_at === null ? '' : minuteText(period.fetched_at)}</td>
        <td>${period.next_refresh_at === null ? '' : minuteText(period.next_refresh_at)}</td>
      </tr> `,
  );
  const title = listed.length < ages.length ? `The newest ${listed.length} periods` : 'Every period';
  const headings = [
    heading('period'),
    numberHeading('age'),
    heading('state'),
    numberHeading('rows'),
    numberHeading('rejected'),
    heading('fetched'),
    heading('next refresh'),
  ];
  return foldedTable(`${title}: age, state, rows`, headings, rows);
}

function daysText({ first_day: first, last_day: last }: PeriodStatus): string {
  return first === last ? first : `${first} … ${last}`;
}

/** Thinner bars cannot be told apart. */
const MOST_BARS = 150;

/** One chart for spend and one for revenue; nothing for a slice that has neither. */
function moneyCharts({ money }: SliceStatus): Markup {
  const charts = money.filter(({ periods }) => periods.length > 0).map(moneyChart);
  return charts.length === 0 ? nothing : html`<div class="side-by-side">${charts}</div>`;
}

function moneyChart({ kind, metric, periods }: MoneyMetric): Markup {
  const together = Math.ceil(periods.length / MOST_BARS);
  const groups = Array.from({ length: Math.ceil(periods.length / together) }, (_, index) =>
    periods.slice(index * together, (index + 1) * together),
  );
  const bars = groups.map((group) => ({
    day: group.at(0)?.first_day ?? '',
    value: group.reduce((sum, { value }) => sum + (value ?? 0), 0),
    isFinal: group.every((period) => period.is_final),
  }));
  const totalOf = (isFinal: boolean): number =>
    periods.reduce((sum, period) => sum + (period.is_final === isFinal ? (period.value ?? 0) : 0), 0);
  const span = together === 1 ? 'period' : `${together} periods`;
  const title = `${kind === 'spend' ? 'Spend' : 'Revenue'} per ${span} (${metric})`;
  const colour = bars.map(({ isFinal }) => (isFinal ? '--series-1' : 'url(#hatch-money)'));
  const values = bars.map(({ value }) => value);
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${legend([
      { fill: 'money', word: 'final', figure: amountText(totalOf(true)) },
      { fill: 'money-maturing', word: 'still maturing', figure: amountText(totalOf(false)) },
    ])}
    ${barChart(
      title,
      bars.map(({ day }) => day.slice(5)),
      [{ colour, values }],
    )}
  </figure> `;
}
