/** The words beside the colours of a picture; pure. */

import { html, type Markup } from './html.ts';

export interface LegendEntry {
  /** The class that gives the colour. */
  readonly fill: string;
  readonly word: string;
  /** What stands behind the word, such as a share; empty for nothing. */
  readonly figure: string;
}

/** A list of colours with their words; outside the drawing, so that it wraps where there is little room. */
export function legend(entries: readonly LegendEntry[]): Markup {
  const items = entries.map(
    ({ fill, word, figure }) =>
      html`<li>
        <svg class="swatch" aria-hidden="true"><rect width="100%" height="100%" class="${fill}" /></svg>${word}
        <b>${figure}</b>
      </li>`,
  );
  return html`<ul class="legend">
    ${items}
  </ul>`;
}
