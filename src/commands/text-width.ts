/** How many columns of a terminal a text takes, and texts cut to fit; pure. */

import stringWidth from 'string-width';

const ELLIPSIS = '…';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Columns: two for a wide character or an emoji, none for a combining mark. */
export function textWidth(text: string): number {
  // Plain text, which most is, needs no tables of characters: to compile them takes a tenth of a start.
  return /^[ -~]*$/.test(text) ? text.length : stringWidth(text);
}

/** The text in at most `columns`, between characters cut short with an ellipsis; empty for no columns. */
export function fitted(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  if (columns < 1) return '';
  let kept = '';
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += textWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return kept.trimEnd() + ELLIPSIS;
}
