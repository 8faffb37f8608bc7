/** A slice's finality as a picture of characters: a line per metric, a mark per period, and the words for both; pure. */

import type { CellState, MetricStatus } from './status-report.ts';

/** From ink to nothing as there is less to rely on; what wants a look is a letter or a sign. */
export const pictureMarks: Readonly<Record<CellState, string>> = {
  final: '█',
  maturing: '▒',
  open: '░',
  cut: '╌',
  empty: '○',
  rejected: '!',
  'not loaded': '?',
  missing: '·',
};

/** The states in words, as a legend of the picture says them. */
export const cellWords: Readonly<Record<CellState, string>> = {
  final: 'final',
  maturing: 'maturing',
  open: 'not over yet',
  cut: 'cut by the date period',
  empty: 'no rows, to be confirmed',
  rejected: 'rows rejected',
  'not loaded': 'metric not loaded yet',
  missing: 'missing',
};

export interface PictureLine {
  /** Metrics that stand alike in every period, in configured order. */
  readonly metrics: readonly string[];
  /** One mark a period, oldest first. */
  readonly marks: string;
}

/** The lines in the order of their first metrics: forty metrics have five or six ways to ripen. */
export function pictureOf(metrics: readonly MetricStatus[]): PictureLine[] {
  const byMarks = new Map<string, string[]>();
  for (const { metric, spans } of metrics) {
    const marks = spans.map(({ state, periods }) => pictureMarks[state].repeat(periods)).join('');
    const alike = byMarks.get(marks);
    if (alike === undefined) byMarks.set(marks, [metric]);
    else alike.push(metric);
  }
  return [...byMarks].map(([marks, alike]) => ({ metrics: alike, marks }));
}
