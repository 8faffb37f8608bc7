/** What a run of the tests says of the known faults: how many it proved, and what is wanting for the others. Pure. */

import { titlePattern, type FaultRow, type Proof } from './faults-table.ts';

/** A test that ran, or was skipped. */
export interface RanTest {
  readonly name: string;
  readonly state: string;
}

/** The tests of a run by file, as the table names files: below `test/`. A file that broke has none. */
export type RanFiles = ReadonlyMap<string, readonly RanTest[]>;

/** A count, and a line for every row with something wanting; null unless every file of the table was part of the run. */
export function faultsReport(rows: readonly FaultRow[], ran: RanFiles): string | null {
  if (rows.some(({ proofs }) => proofs.some(([file]) => !ran.has(file)))) return null;
  const verdicts = rows.map((row) => ({ ...row, wanting: row.proofs.flatMap((proof) => wantingOf(proof, ran)) }));
  const proven = verdicts.filter(({ wanting, missing }) => wanting.length === 0 && missing === null);
  const lines = verdicts.flatMap(({ id, what, missing, wanting }) => {
    const gap = missing === null ? [] : [`proven but for one part: ${missing}`];
    return wanting
      .map((reason) => `NOT PROVEN: ${reason}`)
      .concat(gap)
      .map((text) => `  ${id}, ${what}: ${text}`);
  });
  return [` Faults  ${proven.length} of ${rows.length} proven`, ...lines].join('\n');
}

/** Why the tests of a title prove nothing: none ran, or some did not pass. */
function wantingOf([file, title]: Proof, ran: RanFiles): string[] {
  const pattern = titlePattern(title);
  const tests = (ran.get(file) ?? []).filter(({ name }) => pattern.test(name));
  if (tests.length === 0) return [`no test "${title}" ran in ${file}`];
  return tests.filter(({ state }) => state !== 'passed').map(({ name, state }) => `"${name}" in ${file} ${state}`);
}
