/** The first section of the status page: what the last night brought. Pure. */

import type { StatusReport } from '../status/status-report.ts';
import { newsText } from '../terminal/news-text.ts';
import { html, type Markup } from './html.ts';

export function newsSection(report: StatusReport): Markup {
  const { title, lines } = newsText(report);
  return html`<section aria-labelledby="news">
    <h2 id="news">${title}</h2>
    <ul>
      ${lines.map((line) => html`<li>${line}</li> `)}
    </ul>
  </section> `;
}
