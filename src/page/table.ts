/** A table of the page, in a place of its own that scrolls where there is little room; pure. */

import { html, nothing, type Markup } from './html.ts';

/** Of a column of words. */
export function heading(title: string): Markup {
  return html`<th scope="col">${title}</th> `;
}

/** Of a column of numbers, which stand at its right end. */
export function numberHeading(title: string | Markup): Markup {
  return html`<th scope="col" class="number">${title}</th> `;
}

/** A number in a row; empty for a number that is not known. */
export function numberCell(figure: string): Markup {
  return html`<td class="number">${figure}</td> `;
}

/** The rows under their headings; the kind is the class by which the style sheet knows such tables. */
export function table(
  headings: readonly Markup[],
  rows: readonly Markup[],
  { kind = 'plain', caption = nothing }: { readonly kind?: string; readonly caption?: Markup } = {},
): Markup {
  return html`<div class="scroll">
    <table class="${kind}">
      ${caption}
      <thead>
        <tr>
          ${headings}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

/** A table that is opened by its title. */
export function foldedTable(title: string, headings: readonly Markup[], rows: readonly Markup[]): Markup {
  return html`<details>
    <summary>${title}</summary>
    ${table(headings, rows)}
  </details>`;
}
