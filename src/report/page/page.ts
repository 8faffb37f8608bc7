/** The status page: one HTML file that runs no script and loads nothing, and whose policy forbids a browser both. */

import { createHash } from 'node:crypto';

import { version } from '../../config/version.ts';
import { countText, groupedText, minuteText, percentText, sumOf } from '../../model/measure.ts';
import type { Health, SliceStatus, StatusReport } from '../status/status-report.ts';
import { newsText } from '../terminal/news-text.ts';
import * as facts from '../terminal/status-facts.ts';
import { headingOf, type Table } from '../terminal/table.ts';
import { curveCharts, maturationChart, moneyCharts, moneyTable, percent } from './charts.ts';
import { finalityMap } from './finality-map.ts';
import { html, Markup, name, nothing } from './html.ts';
import { pageStyle } from './page-style.ts';

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(pageStyle).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Of more slices, a browser lays out only those in view. */
const MAX_LAID_OUT = 10;

export function statusPage(report: StatusReport): string {
  const { slices, runs } = report;
  const news = newsText(report);
  const overview = facts.slicesTable(report);
  const rows = overview.rows.map(([slice = '', finalShare = '', ...others], at) => {
    const { final = 0, expected = 0 } = slices[at]?.cells ?? {};
    const meter = html`<svg class="meter" aria-hidden="true">
        <rect width="100%" height="100%" class="maturing" />
        <rect width="${percent(final / Math.max(1, expected))}" height="100%" class="final" />
      </svg>
      ${finalShare}`;
    return [html`<a href="#slice-${slice}">${name(slice)}</a>`, meter, ...others];
  });
  // Money comes once, before the slices, from the one that shows most of it.
  const [lead] = slices.toSorted((one, other) => other.money.length - one.money.length);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="referrer" content="no-referrer" />
        <title>ripen status, ${minuteText(report.as_of)}</title>
        ${/* Unchanged, as the policy names the hash of every character between the tags. */ new Markup(`<style>${pageStyle}</style>`)}
      </head>
      <body>
        ${patterns}
        <main class="${slices.length > MAX_LAID_OUT ? 'many' : 'few'}">
          <header>
            <h1>ripen status</h1>
            <p class="note">
              ${[facts.sourceText(report), ...facts.crawlsText(report), `ripen ${version}`].join('; ')}
            </p>
          </header>
          ${healthBanner(report.health)} ${figures(slices)}
          <section aria-labelledby="news">
            <h2 id="news">${news.title}</h2>
            <ul>
              ${news.lines.map((line) => html`<li>${line}</li> `)}
            </ul>
          </section>
          ${auditSection(runs)} ${lead === undefined ? '' : moneySection(lead, ` of ${lead.name}`)}
          ${factTable({ ...overview, rows }, 'overview')}
          ${slices.map((slice) => sliceSection(slice, report.as_of, slice === lead))}
          <section aria-labelledby="runs">
            <h2 id="runs">Last runs</h2>
            ${factTable(facts.runsTable(runs), 'runs')}
            ${factTable(facts.warningsTable(report), 'warnings')}
          </section>
        </main>
      </body>
    </html>`.text.concat('\n');
}

/** So that cells that need attention or are not over yet stand out without colour too. */
const hatch = (state: string, size: number, ground: string, stripe: string, width = size / 2) =>
  html`<pattern
    id="hatch-${state}"
    width="${size}"
    height="${size}"
    patternUnits="userSpaceOnUse"
    patternTransform="rotate(45)"
  >
    <rect width="${size}" height="${size}" class="${ground}" />
    <rect width="${width}" height="${size}" class="${stripe}" />
  </pattern>`;

const patterns = html`<svg class="unseen" aria-hidden="true">
  <defs>
    ${[
      hatch('missing', 6, 'ground', 'stroke', 2),
      hatch('open', 6, 'paper', 'maturing'),
      hatch('moving', 5, 'paper', 'final'),
    ]}
    <pattern id="hatch-not-loaded" width="6" height="6" patternUnits="userSpaceOnUse">
      <rect width="6" height="6" class="ground" />
      <circle cx="3" cy="3" r="1.2" class="stroke" />
    </pattern>
  </defs>
</svg>`;

/** More findings or restatements hide what follows; they open on a click. */
const MAX_LISTED = 5;
/** A page of 120 slices has to open in a second; `--json` has all. */
const MAX_ROWS = 40;

const healthSigns = { well: '✓', watch: '!', failed: '✕' };

function figures(slices: StatusReport['slices']) {
  const figure = (value: string, meaning: string) =>
    html`<div>
      <dt>${meaning}</dt>
      <dd>${value}</dd>
    </div> `;
  let agreement = figure('–', 'not known yet: no control totals to compare with the service');
  const control = facts.agreementOf(slices);
  if (control !== null) {
    const { totals, moved, read_at: readAt } = control;
    const others = slices.filter((slice) => slice.control === null).length;
    const without = others === 0 ? '' : `; ${countText(others, 'slice')} without control totals`;
    agreement = figure(
      `${groupedText(totals - moved)} of ${groupedText(totals)}`,
      `totals agree with the service, ${minuteText(readAt)}${without}`,
    );
  }
  const cells = sumOf(slices.map((slice) => slice.cells.expected));
  const final = sumOf(slices.map((slice) => slice.cells.final));
  const newest = slices.flatMap((slice) => slice.newest_period ?? []).toSorted();
  const metrics = sumOf(slices.map((slice) => slice.metrics.length));
  const restated = sumOf(slices.map((slice) => slice.restated.length));
  return html`<dl class="figures">
    ${agreement} ${figure(percentText(final, cells), `of ${countText(cells, 'value')} final`)}
    ${figure(newest.at(-1) ?? '–', 'newest period with rows')}
    ${figure(groupedText(restated), `of ${countText(metrics, 'metric')} restated in 7 days`)}
  </dl>`;
}

function auditSection([newest]: StatusReport['runs']) {
  if (newest === undefined || newest.audits.length === 0) return nothing;
  const isHeld = newest.failures.some(
    ({ code, resolved }) => code === 'AUDIT_HELD' && resolved !== true,
  );
  const held = isHeld ? 'holds the night back' : 'held the night back, published later';
  const audits = newest.audits.map((audit) => {
    const { name: title, on_fail: onFail, first, reason } = audit;
    const count = audit.rows ?? 0;
    const columns = [...new Set(first.flatMap((row) => Object.keys(row)))];
    const rows = first.map((row) => columns.map((column) => row[column] ?? ''));
    // A blank, so that no first letter of a column is taken for a mark.
    const table = {
      title: `Rows of ${title}`,
      columns: columns.map((column) => ` ${column}`),
      rows,
    };
    const end = onFail === 'hold' ? held : 'warns';
    const shown = count > first.length ? `, the first ${first.length}:` : '';
    return html`<h3>${name(title)}: ${audit.rows === 0 ? 'waits' : end}</h3>
      ${note(reason ?? `${countText(count, 'row')}${shown}`)} ${factTable(table, 'facts')}`;
  });
  return html`<section aria-labelledby="audits">
    <h2 id="audits">Audits</h2>
    ${audits}
  </section>`;
}

function healthBanner({ state, headline, findings }: Health) {
  const items = findings.map(
    ({ message, hint }) =>
      html`<li>
        ${message}${hint === null ? nothing : html`<span class="hint">${hint}</span>`}
      </li> `,
  );
  const others = items.slice(MAX_LISTED);
  const list = (shown: readonly Markup[]) =>
    html`<ul>
      ${shown}
    </ul>`;
  const more = html`<details>
    <summary>and ${others.length} more</summary>
    ${list(others)}
  </details>`;
  return html`<div class="health ${state}">
    <p><span class="sign" aria-hidden="true">${healthSigns[state]}</span>${headline}</p>
    ${items.length === 0 ? nothing : list(items.slice(0, MAX_LISTED))}
    ${others.length === 0 ? nothing : more}
  </div> `;
}

const classesByMark: Readonly<Record<string, string>> = { '#': 'number', '~': 'long' };

/** `kind` is its class. */
function factTable({ title = '', columns, rows }: Table<string | Markup>, kind: string) {
  if (rows.length === 0) return nothing;
  const classes = columns.map((column) => classesByMark[column.charAt(0)] ?? 'word');
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
          ${columns.map((column, at) => html`<th scope="col" class="${classes[at] ?? ''}">${headingOf(column)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first = '', ...others]) =>
            html`<tr>
              <th scope="row">${typeof first === 'string' ? name(first) : first}</th>
              ${others.map((cell, at) => html`<td class="${classes[at + 1] ?? ''}">${cell}</td>`)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}

function folded({ title = '', columns, rows }: Table) {
  if (rows.length === 0) return nothing;
  const more = rows.length - MAX_ROWS;
  return html`<details>
    <summary>${title}</summary>
    ${factTable({ title, columns, rows: rows.slice(0, MAX_ROWS) }, 'facts')}
    ${more > 0 ? note(`and ${more} more; see --json`) : nothing}
  </details>`;
}

const note = (text: string) => html`<p class="note">${text}</p>`;

/** `moneyIsAbove`: the page shows its money already. */
function sliceSection(slice: SliceStatus, asOf: string, moneyIsAbove: boolean) {
  const restated = facts.restatedTable(slice);
  const more = restated.rows.slice(MAX_LISTED);
  const loaded = html`${facts.agreementText(slice.control, slice.no_control).map(note)}
    ${factTable({ ...restated, rows: restated.rows.slice(0, MAX_LISTED) }, 'restated')}
    ${folded({ ...restated, title: `and ${countText(more.length, 'more metric')}`, rows: more })}
    <div class="side-by-side">${curveCharts(slice)}</div>
    ${maturationChart(slice)} ${facts.unknownMaturation(slice).map(note)}
    ${folded(facts.movedTable(slice))} ${folded(facts.maturationTable(slice))}
    ${folded(facts.horizonsTable(slice))} ${folded(facts.backtestTable(slice))}`;
  return html`<section aria-labelledby="slice-${slice.name}">
    <h2 id="slice-${slice.name}">${slice.name}</h2>
    ${facts.sliceFacts(slice, asOf).map(note)} ${moneyIsAbove ? nothing : moneySection(slice, '')}
    ${finalityMap(slice)} ${slice.newest_fetch_at === null ? nothing : loaded}
    ${folded(facts.dictionaryTable(slice))}
  </section> `;
}

function moneySection(slice: SliceStatus, of: string) {
  if (slice.money.length === 0) return nothing;
  return html`<div class="side-by-side">${moneyCharts(slice, of)}</div>
    ${folded(moneyTable(slice))}`;
}
