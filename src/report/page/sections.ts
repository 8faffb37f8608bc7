/** The sections of the status page: its banner, tables and charts, from the same facts as the text; pure. */

import type {
  CohortCurve,
  Health,
  HealthState,
  RunStatus,
  SliceStatus,
} from '../status/status-report.ts';
import { amountText } from '../terminal/measure.ts';
import {
  agreementText,
  backtestTable,
  dictionaryTable,
  horizonsTable,
  maturationTable,
  restatedTable,
  sliceFacts,
  unknownMaturation,
  type FactTable,
} from '../terminal/status-facts.ts';
import { lineChart } from './charts.ts';
import { finalityMap } from './finality-map.ts';
import { html, legend, type Markup, name, nothing } from './html.ts';

/** As many lines as can be distinguished; the table has the other metrics. */
const MAX_LINES = 4;

/** A sign beside the colour, for people who cannot distinguish colours. */
const healthSigns: Readonly<Record<HealthState, string>> = { well: '✓', watch: '!', failed: '✕' };

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
        html`<li>
          ${message}${hint === null ? nothing : html`<span class="hint">${hint}</span>`}
        </li> `,
    )}
  </ul>`;
}

/** Returns a table of facts. `cells` returns other content for a cell, or null to keep it. */
export function factTable(
  { title, columns, rows }: FactTable,
  cells: (row: number, column: number) => Markup | null = () => null,
): Markup {
  if (rows.length === 0) return nothing;
  const classOf = (column: number): string => {
    const { align, shrinks = false } = columns[column] ?? {};
    return align === 'right' ? 'number' : shrinks ? 'long' : 'word';
  };
  const caption = html`<caption>
    ${title}
  </caption>`;
  return html`<div class="scroll">
    <table>
      ${title === '' ? nothing : caption}
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

function folded(table: FactTable): Markup {
  if (table.rows.length === 0) return nothing;
  return html`<details>
    <summary>${table.title}</summary>
    ${factTable({ ...table, title: '' })}
  </details>`;
}

const note = (text: string): Markup => html`<p class="note">${text}</p>`;

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

export function sliceSection(slice: SliceStatus, asOf: string): Markup {
  const isLoaded = slice.newest_fetch_at !== null;
  return html`<section aria-labelledby="slice-${slice.name}">
    <h2 id="slice-${slice.name}">${slice.name}</h2>
    ${sliceFacts(slice, asOf).map(note)} ${finalityMap(slice)} ${isLoaded ? loaded(slice) : nothing}
    ${folded(dictionaryTable(slice))}
  </section> `;
}

function loaded(slice: SliceStatus): Markup {
  return html`<div class="side-by-side">
      ${slice.curves.map(curveChart)} ${maturationChart(slice.maturation)}
    </div>
    ${agreementText(slice).map(note)} ${unknownMaturation(slice).map(note)}
    ${factTable(restatedTable(slice))} ${folded(maturationTable(slice))}
    ${folded(horizonsTable(slice))} ${folded(backtestTable(slice))}`;
}

function figure(title: string, ...content: readonly Markup[]): Markup {
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${content}
  </figure> `;
}

/** Draws a line for each month, dashed from the first age at which not all of it is final. */
function curveChart({ cohort, points }: CohortCurve): Markup {
  const ages = [...new Set(points.map(({ age_days: age }) => age))].sort((a, b) => a - b);
  const months = [...new Set(points.map(({ month }) => month))];
  const lines = months.flatMap((month, index) => {
    const ofMonth = new Map(
      points.filter((point) => point.month === month).map((point) => [point.age_days, point]),
    );
    const colour = `--series-${index + 1}`;
    const firstOpen = ages.find((age) => ofMonth.get(age)?.is_final === false) ?? Infinity;
    const lastFinal = ages.findLast((age) => age < firstOpen) ?? -Infinity;
    const valueWhere = (isShown: (age: number) => boolean): (number | null)[] =>
      ages.map((age) => (isShown(age) ? (ofMonth.get(age)?.value ?? null) : null));
    return [
      { colour, values: valueWhere((age) => age < firstOpen) },
      {
        colour,
        values: valueWhere((age) => age >= lastFinal && firstOpen < Infinity),
        isDashed: true,
      },
    ];
  });
  const title = `${cohort} by age in days, a line for each month; dashed where it is not final`;
  const entries = months.map((month, index) => {
    const last = points.findLast((point) => point.month === month);
    return { fill: `series-${index + 1}`, word: month, figure: amountText(last?.value ?? 0) };
  });
  return figure(title, legend(entries), lineChart(title, ages.map(String), lines));
}

/** Draws the medians of the slowest metrics. */
function maturationChart(maturation: SliceStatus['maturation']): Markup[] {
  if (maturation.length === 0) return [];
  const ages = [...new Set(maturation.map(({ age_days: age }) => age))].sort((a, b) => a - b);
  const curves = new Map<string, Map<number, number>>();
  for (const { metric, age_days: age, share_median: share } of maturation) {
    curves.set(
      metric,
      (curves.get(metric) ?? new Map<number, number>()).set(age, Math.round(1000 * share) / 10),
    );
  }
  const missing = (curve: ReadonlyMap<number, number>): number =>
    ages.reduce((sum, age) => sum + 100 - (curve.get(age) ?? 100), 0);
  const slowest = [...curves]
    .toSorted(([, one], [, other]) => missing(other) - missing(one))
    .slice(0, MAX_LINES);
  const lines = slowest.map(([, curve], index) => {
    const last = Math.max(...curve.keys());
    // After its last age a metric's total was found final, that is 100 %; nothing is known before its first age.
    const values = ages.map((age) => curve.get(age) ?? (age > last ? 100 : null));
    return { colour: `--series-${index + 1}`, values };
  });
  const title = 'Known of the final total by age in days: the median in percent';
  const entries = slowest.map(([word, curve], index) => {
    const [[age, share] = [0, 0]] = curve;
    return { fill: `series-${index + 1}`, word, figure: `${share} % at ${age}` };
  });
  return [figure(title, legend(entries), lineChart(title, ages.map(String), lines))];
}
