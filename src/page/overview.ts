/** The head of the status page: whether all is well, and every slice on one line; pure. */

import {
  cellStates,
  type Health,
  type HealthState,
  type SliceStatus,
  type StatusReport,
} from '../status/status-report.ts';
import { clockText, countText, groupedText, percentText } from '../terminal/measure.ts';
import { heading, html, type Markup, name, nothing, numberHeading, table } from './html.ts';

/** A sign beside the colour, for who cannot tell colours apart. */
const healthSigns: Readonly<Record<HealthState, string>> = { well: '✓', watch: '!', failed: '✕' };

/** The sentence that says whether all is well, and each finding with its remedy. */
export function healthBanner({ state, headline, findings }: Health): Markup {
  const items = findings.map(
    ({ message, hint }) =>
      html`<li>${message}${hint === null ? nothing : html`<span class="hint">${hint}</span>`}</li> `,
  );
  return html`<div class="health ${state}">
    <p><span class="sign" aria-hidden="true">${healthSigns[state]}</span>${headline}</p>
    ${
      items.length === 0
        ? nothing
        : html`<ul>
            ${items}
          </ul>`
    }
  </div> `;
}

const overviewHeadings = [
  ...['slice', 'cells final'].map(heading),
  ...['periods loaded', 'rows'].map(numberHeading),
  ...['newest rows', 'fetched (UTC)', 'next refresh (UTC)', 'restated in 7 days'].map(heading),
];

/** Freshness, coverage and finality of every slice. */
export function overview({ slices, as_of: asOf }: StatusReport): Markup {
  return table(
    overviewHeadings,
    slices.map((slice) => sliceRow(slice, asOf)),
    { kind: 'overview' },
  );
}

function sliceRow(slice: SliceStatus, asOf: string): Markup {
  const { periods, rows, newest_period: newest, newest_fetch_at: fetchedAt, next_refresh_at: next } = slice;
  return html`<tr>
    <th scope="row"><a href="#slice-${slice.name}">${name(slice.name)}</a></th>
    <td data-title="cells final">${finalBar(slice)}</td>
    <td class="number" data-title="periods loaded">
      ${groupedText(periods.loaded)} of ${groupedText(periods.expected)}
    </td>
    <td class="number" data-title="rows">${groupedText(rows)}</td>
    <td data-title="newest rows">${newest ?? 'none'}</td>
    <td data-title="fetched (UTC)">${fetchedAt === null ? 'never' : clockText(fetchedAt)}</td>
    <td data-title="next refresh (UTC)">${nextText(next, asOf)}</td>
    <td data-title="restated in 7 days">${restatedText(slice)}</td>
  </tr> `;
}

/** How the slice's cells stand, as one bar. */
function finalBar({ cells }: SliceStatus): Markup {
  let from = 0;
  const parts = cellStates
    .filter((state) => cells[state] > 0)
    .map((state) => {
      const [x, width] = [(100 * from) / cells.expected, (100 * cells[state]) / cells.expected];
      from += cells[state];
      return html`<rect
        x="${x.toFixed(2)}%"
        width="${width.toFixed(2)}%"
        height="100%"
        class="${state.replaceAll(' ', '-')}"
      />`;
    });
  return html`<svg class="bar" aria-hidden="true">${parts}</svg>${percentText(cells.final, cells.expected)}`;
}

function nextText(next: string | null, asOf: string): string {
  if (next === null) return 'nothing expected';
  return next <= asOf ? 'due now' : clockText(next);
}

function restatedText({ restated }: SliceStatus): string {
  if (restated.length === 0) return 'nothing';
  return `${countText(restated.length, 'metric')}, ${countText(Math.max(...restated.map(({ periods }) => periods)), 'period')}`;
}
