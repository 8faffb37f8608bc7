/**
 * What the mutation run changes, and the fast tests that have to notice: of each room its own, so that a mutant costs a
 * second. Whatever those miss, slower tests may still see: a score is a lower bound.
 */

import { readFileSync } from 'node:fs';

export interface Room {
  readonly name: string;
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** Mutants that may survive; `docs/internals/mutation.md` says of each why. */
  readonly survivors: number;
}

/** A file between the lines that begin so, or to its end, as Stryker takes it: the rest does what the fast tests do not see. */
function linesOf(file: string, from: string, until?: string): string {
  const lines = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split('\n');
  const first = lines.findIndex((line) => line.startsWith(from));
  const end = until === undefined ? lines.length : lines.findIndex((line, at) => at > first && line.startsWith(until));
  if (first === -1 || end === -1) throw new RangeError(`No lines of ${file} begin so: ${from}, ${until ?? 'its end'}.`);
  return `${file}:${first + 1}-${end}`;
}

export const rooms: readonly Room[] = [
  {
    name: 'planning',
    mutate: ['src/plan/*.ts'],
    tests: ['test/unit/plan*.test.ts', 'test/property/plan*.test.ts'],
    survivors: 4,
  },
  {
    name: 'verdicts',
    mutate: ['src/service/verdict.ts'],
    tests: ['test/unit/service-verdict.test.ts', 'test/unit/service-judge.test.ts'],
    survivors: 4,
  },
  {
    name: 'proofs',
    mutate: [
      linesOf('src/load/answers.ts', 'export function judgeAnswers('),
      'src/load/totals.ts',
      'src/load/guard.ts',
    ],
    tests: ['test/unit/load-judge-answers.test.ts', 'test/unit/load-proof.test.ts', 'test/unit/load-guard.test.ts'],
    survivors: 2,
  },
  {
    name: 'typing',
    mutate: [
      linesOf('src/load/text-sql.ts', 'function fastDigits('),
      linesOf('src/load/window-sql.ts', 'export function duplicateKeys(', '/** '),
      linesOf('src/load/odd-texts.ts', 'export function widenForDigits('),
      'src/model/column-type.ts',
    ],
    tests: ['test/unit/load-sql.test.ts', 'test/unit/load-odd-texts.test.ts', 'test/unit/model-numbers.test.ts'],
    survivors: 1,
  },
  {
    name: 'maturity',
    mutate: ['src/model/coverage.ts', 'src/model/maturity.ts', 'src/model/metric.ts'],
    tests: [
      'test/unit/model-coverage.test.ts',
      'test/unit/model-ma*.test.ts',
      'test/unit/model-met*.test.ts',
      'test/property/model-maturity.test.ts',
    ],
    survivors: 3,
  },
  {
    name: 'ledger',
    mutate: ['src/warehouse/ledger.ts'],
    tests: ['test/integration/ledger.test.ts'],
    survivors: 0,
  },
];
