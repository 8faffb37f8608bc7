/** The status page: one HTML file with pictures. It runs no script and loads nothing, and its policy forbids a browser both. */

import { createHash } from 'node:crypto';

import type { StatusReport } from '../status/status-report.ts';
import { version } from '../../config/version.ts';
import { minuteText } from '../terminal/measure.ts';
import {
  crawlsText,
  warningsTable,
  runsTable,
  slicesTable,
  sourceText,
} from '../terminal/status-facts.ts';
import { html, Markup, name } from './html.ts';
import { newsSection } from './news.ts';
import { pageStyle } from './page-style.ts';
import { factTable, failureLists, healthBanner, sliceSection } from './sections.ts';

/** Allows only the page's own style sheet, by its hash. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(pageStyle).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

export function statusPage(report: StatusReport): string {
  const linkOf = (row: number, column: number): Markup | null => {
    const slice = report.slices[row]?.name;
    if (column > 0 || slice === undefined) return null;
    return html`<a href="#slice-${slice}">${name(slice)}</a>`;
  };
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
        <main>
          <header>
            <h1>ripen status</h1>
            <p class="note">
              ${[sourceText(report), ...crawlsText(report), `ripen ${version}`].join('; ')}
            </p>
          </header>
          ${healthBanner(report.health)} ${newsSection(report)}
          ${factTable(slicesTable(report), linkOf)}
          ${report.slices.map((slice) => sliceSection(slice, report.as_of))}
          <section aria-labelledby="runs">
            <h2 id="runs">Last runs</h2>
            ${factTable(runsTable(report.runs))} ${failureLists(report.runs)}
            ${factTable(warningsTable(report))}
          </section>
        </main>
      </body>
    </html>`.text.concat('\n');
}

/** Inserted unchanged, as the hash covers every character between the tags. */
const style = new Markup(`<style>${pageStyle}</style>`);

/** So that cells that need attention or are not over yet stand out without colour too. */
const patterns = html`<svg class="unseen" aria-hidden="true">
  <defs>
    <pattern
      id="hatch-missing"
      width="6"
      height="6"
      patternUnits="userSpaceOnUse"
      patternTransform="rotate(45)"
    >
      <rect width="6" height="6" class="ground" />
      <rect width="2" height="6" class="stroke" />
    </pattern>
    <pattern
      id="hatch-open"
      width="6"
      height="6"
      patternUnits="userSpaceOnUse"
      patternTransform="rotate(45)"
    >
      <rect width="6" height="6" class="paper" />
      <rect width="3" height="6" class="maturing" />
    </pattern>
    <pattern id="hatch-not-loaded" width="6" height="6" patternUnits="userSpaceOnUse">
      <rect width="6" height="6" class="ground" />
      <circle cx="3" cy="3" r="1.2" class="stroke" />
    </pattern>
  </defs>
</svg>`;
