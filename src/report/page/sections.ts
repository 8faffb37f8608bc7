/** The sections of the status page: its banner, lists and tables, from the same facts as the text; pure. */

import { countText, groupedText, minuteText, percentText } from '../../model/measure.ts';
import type {
  Health,
  HealthState,
  RunStatus,
  SliceStatus,
  StatusReport,
} from '../status/status-report.ts';
import { newsText } from '../terminal/news-text.ts';
import {
  agreementOf,
  agreementText,
  backtestTable,
  dictionaryTable,
  horizonsTable,
  maturationTable,
  movedTable,
  restatedTable,
  sliceFacts,
  unknownMaturation,
} from '../terminal/status-facts.ts';
import type { Table } from '../terminal/table.ts';
import { finalityMap } from './finality-map.ts';
import { html, type Markup, name, nothing } from './html.ts';
import { curveCharts, maturationChart, moneyCharts, moneyTable } from './slice-charts.ts';

/** More findings or restatements hide what follows; they open on a click. */
const MAX_LISTED = 5;
/** A page of 120 slices has to open in a second; `--json` has all. */
const MAX_ROWS = 40;

/** A sign beside the colour, for people who cannot distinguish colours. */
const healthSigns: Readonly<Record<HealthState, string>> = { well: '✓', watch: '!', failed: '✕' };

export function figures({ slices }: StatusReport): Markup {
  const agreement = agreementOf(slices);
  const others = slices.filter(({ control }) => control === null).length;
  const without = others === 0 ? '' : `; ${countText(others, 'slice')} without control totals`;
  const cells = slices.reduce((sum, slice) => sum + slice.cells.expected, 0);
  const final = slices.reduce((sum, slice) => sum + slice.cells.final, 0);
  const newest = slices.flatMap((slice) => slice.newest_period ?? []).toSorted();
  const metrics = slices.reduce((sum, slice) => sum + slice.metrics.length, 0);
  const restated = slices.reduce((sum, slice) => sum + slice.restated.length, 0);
  const shown: (readonly [figure: string, meaning: string])[] = [
    agreement === null
      ? ['–', 'not known yet: no control totals to compare with the service']
      : [
          `${groupedText(agreement.totals - agreement.moved)} of ${groupedText(agreement.totals)}`,
          `totals agree with the service, ${minuteText(agreement.read_at)}${without}`,
        ],
    [percentText(final, cells), `of ${countText(cells, 'value')} final`],
    [newest.at(-1) ?? '–', 'newest period with rows'],
    [groupedText(restated), `of ${countText(metrics, 'metric')} restated in 7 days`],
  ];
  return html`<dl class="figures">
    ${shown.map(
      ([figure, meaning]) =>
        html`<div>
          <dt>${meaning}</dt>
          <dd>${figure}</dd>
        </div> `,
    )}
  </dl>`;
}

export function newsSection(report: StatusReport): Markup {
  const { title, lines } = newsText(report);
  return html`<section aria-labelledby="news">
    <h2 id="news">${title}</h2>
    <ul>
      ${lines.map((line) => html`<li>${line}</li> `)}
    </ul>
  </section> `;
}

export function auditSection([newest]: readonly RunStatus[]): Markup {
  if (newest === undefined || newest.audits.length === 0) return nothing;
  return html`<section aria-labelledby="audits">
    <h2 id="audits">Audits</h2>
    ${newest.audits.map(({ name: audit, on_fail: onFail, rows, first, reason }) => {
      const isHeld = newest.failures.some(
        (failure) => failure.code === 'AUDIT_HELD' && failure.resolved !== true,
      );
      const held = isHeld ? 'holds the night back' : 'held the night back, published later';
      const end = rows === 0 ? 'waits' : onFail === 'hold' ? held : 'warns';
      const columns = [...new Set(first.flatMap((row) => Object.keys(row)))];
      return html`<h3>${name(audit)}: ${end}</h3>
        ${note(reason ?? `${countText(rows ?? 0, 'row')}${(rows ?? 0) > first.length ? `, the first ${first.length}:` : ''}`)}
        ${factTable(
          {
            title: `Rows of ${audit}`,
            columns: columns.map((title) => ({ title })),
            rows: first.map((row) => columns.map((column) => row[column] ?? '')),
          },
          'facts',
        )}`;
    })}
  </section>`;
}

export function healthBanner({ state, headline, findings }: Health): Markup {
  const others = findings.slice(MAX_LISTED);
  const more = html`<details>
    <summary>and ${others.length} more</summary>
    ${listOf(others)}
  </details>`;
  return html`<div class="health ${state}">
    <p><span class="sign" aria-hidden="true">${healthSigns[state]}</span>${headline}</p>
    ${listOf(findings.slice(0, MAX_LISTED))} ${others.length === 0 ? nothing : more}
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

/** `cells` returns other content for a cell, or null to keep it. `kind` is its class. */
export function factTable(
  { title = '', columns, rows }: Table,
  kind: string,
  cells: (row: number, column: number) => Markup | null = () => null,
): Markup {
  if (rows.length === 0) return nothing;
  const classes = columns.map(({ align, shrinks = false }) =>
    align === 'right' ? 'number' : shrinks ? 'long' : 'word',
  );
  // Only facts may be wider than a phone, and a keyboard scrolls only what it can reach. What opens them has their title.
  const isFacts = kind === 'facts';
  const reach = isFacts ? html`tabindex="0" role="group" aria-label="${title}"` : nothing;
  const caption = html`<caption>
    ${title}
  </caption>`;
  return html`<div class="scroll" ${reach}>
    <table class="${kind}">
      ${isFacts || title === '' ? nothing : caption}
      <thead>
        <tr>
          ${columns.map((column, at) => html`<th scope="col" class="${classes[at] ?? ''}">${column.title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first = '', ...others], row) =>
            html`<tr>
              <th scope="row">${cells(row, 0) ?? name(first)}</th>
              ${others.map((cell, at) => html`<td class="${classes[at + 1] ?? ''}">${cells(row, at + 1) ?? cell}</td>`)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}

function folded(table: Table): Markup {
  const { title = '', rows } = table;
  if (rows.length === 0) return nothing;
  const more = rows.length - MAX_ROWS;
  return html`<details>
    <summary>${title}</summary>
    ${factTable({ ...table, rows: rows.slice(0, MAX_ROWS) }, 'facts')}
    ${more > 0 ? note(`and ${more} more; see --json`) : nothing}
  </details>`;
}

const note = (text: string): Markup => html`<p class="note">${text}</p>`;

/** `moneyIsAbove`: the page shows its money already. */
export function sliceSection(slice: SliceStatus, asOf: string, moneyIsAbove: boolean): Markup {
  const isLoaded = slice.newest_fetch_at !== null;
  return html`<section aria-labelledby="slice-${slice.name}">
    <h2 id="slice-${slice.name}">${slice.name}</h2>
    ${sliceFacts(slice, asOf).map(note)} ${moneyIsAbove ? nothing : moneySection(slice, '')}
    ${finalityMap(slice)} ${isLoaded ? loadedFacts(slice) : nothing}
    ${folded(dictionaryTable(slice))}
  </section> `;
}

function loadedFacts(slice: SliceStatus): Markup {
  const restated = restatedTable(slice);
  const more = restated.rows.slice(MAX_LISTED);
  return html`${agreementText(slice).map(note)}
    ${factTable({ ...restated, rows: restated.rows.slice(0, MAX_LISTED) }, 'restated')}
    ${folded({ ...restated, title: `and ${countText(more.length, 'more metric')}`, rows: more })}
    <div class="side-by-side">${curveCharts(slice)}</div>
    ${maturationChart(slice)} ${unknownMaturation(slice).map(note)} ${folded(movedTable(slice))}
    ${folded(maturationTable(slice))} ${folded(horizonsTable(slice))}
    ${folded(backtestTable(slice))}`;
}

export function moneySection(slice: SliceStatus, of: string): Markup {
  if (slice.money.length === 0) return nothing;
  return html`<div class="side-by-side">${moneyCharts(slice, of)}</div>
    ${folded(moneyTable(slice))}`;
}
