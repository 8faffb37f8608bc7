/** A slice's finality as one line of characters; pure. */

import type { PeriodState, PeriodStatus } from './status-report.ts';

export const pictureMarks: Readonly<Record<PeriodState, string>> = {
  final: '█',
  maturing: '▒',
  open: '░',
  missing: '·',
};

/** One mark a period, oldest first, at most `columns` wide; `…` stands for older periods that do not fit. */
export function pictureOf(periods: readonly PeriodStatus[], columns: number): string {
  const marks = periods.map((period) => pictureMarks[period.state]);
  return marks.length <= columns ? marks.join('') : `…${marks.slice(marks.length - columns + 1).join('')}`;
}
