/** After a run of all tests, says how many of the known faults were proven by it, and names those that were not. */

import type { Reporter, TestCase, TestModule } from 'vitest/node';

import { faultRows, titlePattern, type Proof } from '../../test/support/faults-table.ts';

/** Reports on stdout, beside vitest's own reporter; says nothing after a run of some files alone. */
export class FaultsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = new Set(faultRows.flatMap(({ proofs }) => proofs.map(([file]) => file)));
    const ran = [...files].filter((file) => modules.some(({ moduleId }) => moduleId.endsWith(`/test/${file}`)));
    if (ran.length < files.size) return;
    const verdicts = faultRows.map((row) => ({
      ...row,
      wanting: row.proofs.flatMap((proof) => wanting(proof, modules)),
    }));
    const proven = verdicts.filter(({ wanting, missing }) => wanting.length === 0 && missing === null);
    const lines = verdicts.flatMap(({ id, what, missing, wanting }) => {
      const gap = missing === null ? [] : [`proven but for one part: ${missing}`];
      return gap.concat(wanting.map((reason) => `NOT PROVEN: ${reason}`)).map((text) => `  ${id}, ${what}: ${text}`);
    });
    process.stdout.write(`\n Faults  ${proven.length} of ${faultRows.length} proven\n${lines.join('\n')}\n`);
  }
}

/** Why the tests of a title prove nothing: none ran, or some did not pass. */
function wanting([file, title]: Proof, modules: readonly TestModule[]): string[] {
  const pattern = titlePattern(title);
  const tests = modules
    .filter(({ moduleId }) => moduleId.endsWith(`/test/${file}`))
    .flatMap((module) => [...module.children.allTests()].filter(({ name }) => pattern.test(name)));
  if (tests.length === 0) return [`no test "${title}" ran in ${file}`];
  return tests.filter((test) => !isPassed(test)).map((test) => `"${test.name}" in ${file} ${test.result().state}`);
}

function isPassed(test: TestCase): boolean {
  return test.result().state === 'passed';
}
