/** The status page: one HTML file that runs no script and loads nothing, and whose policy forbids a browser both. */

import { createHash } from 'node:crypto';

import type { StatusReport } from '../status/status-report.ts';
import { version } from '../../config/version.ts';
import { minuteText, percentText } from '../../model/measure.ts';
import {
  crawlsText,
  warningsTable,
  runsTable,
  slicesTable,
  sourceText,
} from '../terminal/status-facts.ts';
import { percent } from './charts.ts';
import { html, Markup, name } from './html.ts';
import { pageStyle } from './page-style.ts';
import {
  auditSection,
  factTable,
  figures,
  healthBanner,
  moneySection,
  newsSection,
  sliceSection,
} from './sections.ts';

/** Allows only the page's own style sheet, by its hash. */
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
  const overview = (row: number, column: number): Markup | null => {
    const slice = slices[row];
    if (slice === undefined || column > 1) return null;
    if (column === 0) return html`<a href="#slice-${slice.name}">${name(slice.name)}</a>`;
    const { final, expected } = slice.cells;
    return html`<svg class="meter" aria-hidden="true">
        <rect width="100%" height="100%" class="maturing" />
        <rect width="${percent(final / Math.max(1, expected))}" height="100%" class="final" />
      </svg>
      ${percentText(final, expected)}`;
  };
  // Money comes before the slices once, from the one that shows most of it.
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
        ${style}
      </head>
      <body>
        ${patterns}
        <main class="${slices.length > MAX_LAID_OUT ? 'many' : 'few'}">
          <header>
            <h1>ripen status</h1>
            <p class="note">
              ${[sourceText(report), ...crawlsText(report), `ripen ${version}`].join('; ')}
            </p>
          </header>
          ${healthBanner(report.health)} ${figures(report)} ${newsSection(report)}
          ${auditSection(runs)} ${lead === undefined ? '' : moneySection(lead, ` of ${lead.name}`)}
          ${factTable(slicesTable(report), 'overview', overview)}
          ${slices.map((slice) => sliceSection(slice, report.as_of, slice === lead))}
          <section aria-labelledby="runs">
            <h2 id="runs">Last runs</h2>
            ${factTable(runsTable(runs), 'runs')} ${factTable(warningsTable(report), 'warnings')}
          </section>
        </main>
      </body>
    </html>`.text.concat('\n');
}

/** Inserted unchanged, as the hash covers every character between the tags. */
const style = new Markup(`<style>${pageStyle}</style>`);

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
