/** The count of proven faults that a run of all tests ends with. */

import { expect, test } from 'vitest';

import { faultsReport, type RanFiles } from '../support/faults-report.ts';
import type { FaultRow } from '../support/faults-table.ts';

const rows: readonly FaultRow[] = [
  { id: '1', what: 'one 429', outcome: 'waited out', proofs: [['fault/a.test.ts', '%i times']], missing: null },
  { id: '2', what: 'a full disk', outcome: 'rolled back', proofs: [['e2e/b.test.ts', 'kept']], missing: null },
];

const ran = (twice: string, kept: string): RanFiles =>
  new Map([
    [
      'fault/a.test.ts',
      [
        { name: '1 times', state: 'passed' },
        { name: '2 times', state: twice },
      ],
    ],
    ['e2e/b.test.ts', [{ name: 'kept', state: kept }]],
  ]);

test('2 faults whose tests all passed are 2 of 2 proven, and nothing more is said', () => {
  expect(faultsReport(rows, ran('passed', 'passed'))).toBe(' Faults  2 of 2 proven');
});

test('one failed case of two leaves its fault not proven, and names the case', () => {
  expect(faultsReport(rows, ran('failed', 'passed'))).toBe(
    ' Faults  1 of 2 proven\n  1, one 429: NOT PROVEN: "2 times" in fault/a.test.ts failed',
  );
});

test('a test that was skipped proves nothing', () => {
  expect(faultsReport(rows, ran('passed', 'skipped'))).toContain(
    '1 of 2 proven\n  2, a full disk: NOT PROVEN: "kept" in e2e/b.test.ts skipped',
  );
});

test('a file that broke before its tests leaves its fault not proven', () => {
  const broken = new Map([...ran('passed', 'passed'), ['e2e/b.test.ts', []] as const]);
  expect(faultsReport(rows, broken)).toContain('NOT PROVEN: no test "kept" ran in e2e/b.test.ts');
});

test('a fault that is proven but for one part is not counted', () => {
  const [first, second] = rows;
  if (first === undefined || second === undefined) throw new Error('two rows were given');
  const report = faultsReport([first, { ...second, missing: 'on Tuesdays' }], ran('passed', 'passed'));
  expect(report).toBe(' Faults  1 of 2 proven\n  2, a full disk: proven but for one part: on Tuesdays');
});

test('a run of some files alone says nothing', () => {
  expect(faultsReport(rows, new Map([...ran('passed', 'passed')].slice(0, 1)))).toBeNull();
});
