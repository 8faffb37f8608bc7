/** The sections of the status page: its banner, its tables and its charts, from the facts that the text has too; pure. */

import type { Health, HealthState, MoneyMetric, RunStatus, SliceStatus } from '../status/status-report.ts';
import { amountText, groupedText } from '../terminal/measure.ts';
import {
  auditText,
  backtestTable,
  maturationTable,
  moversTable,
  periodsTable,
  restatedTable,
  sliceFacts,
  unknownMaturation,
  unmatchedText,
  type FactTable,
} from '../terminal/status-facts.ts';
import { areaChart, barChart, lineChart } from './charts.ts';
import { finalityMap } from './finality-map.ts';
import { html, legend, type Markup, name, nothing } from './html.ts';

/** Two months of days; the JSON form has them all. */
const MOST_PERIODS_LISTED = 62;
/** More points than the drawing has pixels. */
const MOST_POINTS = 480;
/** Thinner bars cannot be told apart. */
const MOST_BARS = 150;
/** As many lines as can be told apart; the table has the other metrics. */
const MOST_LINES = 4;

/** A sign beside the colour, for who cannot tell colours apart. */
const healthSigns: Readonly<Record<HealthState, string>> = { well: '✓', watch: '!', failed: '✕' };

/** The sentence that says whether all is well, and each finding with its remedy. */
export function healthBanner({ state, headline, findings }: Health): Markup {
  return html`<div class="health ${state}">
    <p><span class="sign" aria-hidden="true">${healthSigns[state]}</span>${headline}</p>
    ${listOf(findings)}
  </div> `;
}

function listOf(items: Health['findings']): Markup {
  if (items.length === 0) return nothing;
  return html`<ul>
    ${items.map(
      ({ message, hint }) =>
        html`<li>${message}${hint === null ? nothing : html`<span class="hint">${hint}</span>`}</li> `,
    )}
  </ul>`;
}

/** A table of facts; nothing without a row. `cells` replaces what stands in some of them. */
export function factTable(
  { title, columns, rows }: FactTable,
  cells: (row: number, column: number) => Markup | null = () => null,
): Markup {
  if (rows.length === 0) return nothing;
  const classOf = (column: number): string => (columns[column]?.align === 'right' ? 'number' : 'word');
  return html`<div class="scroll">
    <table>
      ${
        title === ''
          ? nothing
          : html`<caption>
              ${title}
            </caption>`
      }
      <thead>
        <tr>
          ${columns.map((column, index) => html`<th scope="col" class="${classOf(index)}">${column.title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first = '', ...others], row) =>
            html`<tr>
              <th scope="row">${cells(row, 0) ?? name(first)}</th>
              ${others.map((cell, index) => html`<td class="${classOf(index + 1)}">${cells(row, index + 1) ?? cell}</td>`)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}

/** A table that is opened by its title. */
function folded(table: FactTable): Markup {
  if (table.rows.length === 0) return nothing;
  return html`<details>
    <summary>${table.title}</summary>
    ${factTable({ ...table, title: '' })}
  </details>`;
}

const note = (text: string): Markup => html`<p class="note">${text}</p>`;

/** The failures of the runs, one list a run that had some. */
export function failureLists(runs: readonly RunStatus[]): Markup[] {
  return runs
    .filter(({ failures }) => failures.length > 0)
    .map(
      ({ as_of: asOf, failures }) =>
        html`<details>
          <summary>Failures as of ${asOf}</summary>
          ${listOf(
            failures.map(({ code, slice, window, message, hint }) => {
              const place = [slice, window].filter((word) => word !== null).join(' ');
              return { message: `${code}${place === '' ? '' : ` (${place})`}: ${message}`, hint };
            }),
          )}
        </details>`,
    );
}

/** One slice with its pictures. */
export function sliceSection(slice: SliceStatus, asOf: string): Markup {
  const isLoaded = slice.newest_fetch_at !== null;
  return html`<section aria-labelledby="slice-${slice.name}">
    <h2 id="slice-${slice.name}">${slice.name}</h2>
    ${sliceFacts(slice, asOf).map(note)} ${finalityMap(slice)} ${isLoaded ? loaded(slice) : nothing}
    ${folded(periodsTable(slice, MOST_PERIODS_LISTED))}
  </section> `;
}

function loaded(slice: SliceStatus): Markup {
  const unknown = unknownMaturation(slice).map((reason) => note(`How its values mature is not known yet: ${reason}.`));
  return html`<div class="side-by-side">
      ${rowsChart(slice)} ${slice.money.map(moneyChart)} ${maturationChart(slice)}
    </div>
    ${[...unmatchedText(slice), ...auditText(slice)].map(note)} ${unknown} ${factTable(restatedTable(slice))}
    ${folded(moversTable(slice))} ${folded(maturationTable(slice))} ${folded(backtestTable(slice))}`;
}

function figure(title: string, ...content: readonly Markup[]): Markup {
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${content}
  </figure> `;
}

/** Neighbours together, so that at most so many groups are left. */
function grouped<T>(items: readonly T[], most: number): readonly (readonly T[])[] {
  const together = Math.max(1, Math.ceil(items.length / most));
  return Array.from({ length: Math.ceil(items.length / together) }, (_, index) =>
    items.slice(index * together, (index + 1) * together),
  );
}

const total = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
const perText = (groups: readonly (readonly unknown[])[]): string =>
  (groups[0]?.length ?? 1) === 1 ? 'period' : `${groups[0]?.length} periods`;

function rowsChart({ ages }: SliceStatus): Markup {
  const groups = grouped(ages, MOST_POINTS);
  const values = groups.map((group) => total(group.map(({ rows }) => rows)));
  const labels = groups.map((group) => (group[0]?.first_day ?? '').slice(5));
  const title = `Rows per ${perText(groups)}: ${groupedText(Math.min(...values))} to ${groupedText(Math.max(...values))}`;
  return figure(title, areaChart(title, labels, { colour: '--series-1', values }));
}

/** What was spent or earned; what still matures is hatched. */
function moneyChart({ kind, metric, periods }: MoneyMetric): Markup {
  if (periods.length === 0) return nothing;
  const groups = grouped(periods, MOST_BARS);
  const title = `${kind === 'spend' ? 'Spend' : 'Revenue'} per ${perText(groups)} (${metric})`;
  const sumOf = (isFinal: boolean): string =>
    amountText(total(periods.filter((period) => period.is_final === isFinal).map(({ value }) => value)));
  const series = {
    colour: groups.map((group) => (group.every((period) => period.is_final) ? '--series-1' : 'url(#hatch-money)')),
    values: groups.map((group) => total(group.map(({ value }) => value))),
  };
  const labels = groups.map((group) => (group[0]?.first_day ?? '').slice(5));
  return figure(
    title,
    legend([
      { fill: 'money', word: 'final', figure: sumOf(true) },
      { fill: 'money-maturing', word: 'still maturing', figure: sumOf(false) },
    ]),
    barChart(title, labels, [series]),
  );
}

/** How much of a final total is known by age: the medians of the first metrics. */
function maturationChart({ maturation }: SliceStatus): Markup {
  if (maturation.length === 0) return nothing;
  const ages = [...new Set(maturation.map(({ age_days: age }) => age))].sort((a, b) => a - b);
  const metrics = [...new Set(maturation.map(({ metric }) => metric))].slice(0, MOST_LINES);
  const lines = metrics.map((metric, index) => ({
    colour: `--series-${index + 1}`,
    values: ages.map((age) => {
      const found = maturation.find((each) => each.metric === metric && each.age_days === age);
      return Math.round(1000 * (found?.share_median ?? 1)) / 10;
    }),
  }));
  const title = 'How much of the final total is known by age in days: the median in percent';
  const entries = metrics.map((word, index) => {
    return { fill: `series-${index + 1}`, word, figure: `${lines[index]?.values[0] ?? 0} % at ${ages[0] ?? 0}` };
  });
  return figure(title, legend(entries), lineChart(title, ages.map(String), lines));
}
