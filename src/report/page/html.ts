/** HTML templates in which outside text stays text: every value is escaped unless it is markup of our own. */

import { scrub } from '../../config/secret.ts';
import { oneLine } from '../terminal/printable.ts';

export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Content = string | number | Markup | readonly Markup[];

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For an element or a quoted attribute. */
function escaped(text: string) {
  return scrub(oneLine(text)).replaceAll(/[&<>"']/g, (mark) => escapes[mark] ?? '');
}

export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Markup {
  // A browser takes indentation for one blank, as it does a line feed alone.
  const [first = '', ...rest] = strings.map((string) => string.replaceAll(/\n\s+/g, '\n'));
  let text = first;
  for (const [at, string] of rest.entries()) {
    const content = values[at] ?? '';
    if (typeof content === 'string') text += escaped(content);
    else if (typeof content === 'number') text += String(content);
    else if (content instanceof Markup) text += content.text;
    else for (const markup of content) text += markup.text;
    text += string;
  }
  return new Markup(text);
}

export function name(text: string): Markup {
  return new Markup(escaped(text).replaceAll('_', '_<wbr>'));
}

export const nothing = new Markup('');

/** `fill` is the class that gives the colour. */
export function legend(
  entries: readonly { readonly fill: string; readonly word: string; readonly figure: string }[],
): Markup {
  const items = entries.map(
    ({ fill, word, figure }) =>
      html`<li>
        <svg class="swatch" aria-hidden="true">
          <rect width="100%" height="100%" class="${fill}" /></svg
        >${word}
        <b>${figure}</b>
      </li>`,
  );
  return html`<ul class="legend">
    ${items}
  </ul>`;
}
