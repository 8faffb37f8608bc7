/** How many columns of a terminal a text takes, and texts cut to fit; pure. */

import stringWidth from 'string-width';

const ELLIPSIS = '…';

/** Columns: two for a wide character or an emoji, none for a combining mark. */
export function textWidth(text: string): number {
  // Plain text, which most is, needs no tables of characters: to compile them takes a tenth of a start.
  return /^[ -~…]*$/.test(text) ? text.length : stringWidth(text);
}

/** The text in at most `columns`, between characters cut short with an ellipsis; empty for no columns. */
export function fitted(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  return columns < 1 ? '' : beginning(segmentsOf(text), columns - 1).trimEnd() + ELLIPSIS;
}

/** As `fitted`, without the middle: names of one kind begin alike, and are told apart by how they end. */
export function shortened(text: string, columns: number): string {
  if (textWidth(text) <= columns || columns < 1) return fitted(text, columns);
  const segments = segmentsOf(text);
  const start = beginning(segments, Math.ceil((columns - 1) / 2));
  const end = beginning(segments.toReversed(), columns - 1 - textWidth(start), (kept, segment) => segment + kept);
  return start.trimEnd() + ELLIPSIS + end.trimStart();
}

/** Made only for a text that is too wide: to make a segmenter takes longer than to load all other words of the terminal. */
const segmentsOf = (text: string): string[] => {
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return [...graphemes.segment(text)].map(({ segment }) => segment);
};

let graphemes: Intl.Segmenter | null = null;

/** As many segments as fit, put together. */
function beginning(
  segments: readonly string[],
  columns: number,
  join: (kept: string, segment: string) => string = (kept, segment) => kept + segment,
): string {
  let kept = '';
  let width = 0;
  for (const segment of segments) {
    width += textWidth(segment);
    if (width > columns) break;
    kept = join(kept, segment);
  }
  return kept;
}
