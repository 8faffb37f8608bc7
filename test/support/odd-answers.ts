/** The ways in which one answer of several is not what the others are. */

import { type Change, totalsOf } from './answering.ts';
import { json } from './scripted-server.ts';

export const noContent: Change = () => ({ status: 204 });
export const noRows: Change = () => json({ rows: [], totals: {} });
export const noRowsButTotals: Change = (report) => json({ ...report, rows: [] });
export const nullRows: Change = (report) => json({ ...report, rows: null });
export const bareObject: Change = () => json({});
export const refused =
  (status: number): Change =>
  () => ({ status });

/** An answer without its last rows; its totals are those of all rows, of the rows that came, or missing. */
export const short =
  (missing: number, totals: 'of all' | 'of the rest' | 'missing'): Change =>
  (report) => {
    const rows = report.rows.slice(0, Math.max(0, report.rows.length - missing));
    const stated = { 'of all': report.totals, 'of the rest': totalsOf(report, rows), missing: {} };
    return json({ ...report, rows, totals: stated[totals] });
  };

export const cut: Change = (report) => {
  const reply = json(report);
  return { ...reply, cutAfter: Math.floor(String(reply.body).length / 2) };
};

export const slow =
  (ms: number): Change =>
  (report) =>
    json(report, { afterMs: ms });

/** The report with further members. */
export const beside =
  (members: object): Change =>
  (report) =>
    json({ ...report, ...members });
