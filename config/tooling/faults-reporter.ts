/** After a run of all tests, says how many of the known faults were proven by it, and names those that were not. */

import type { Reporter, TestModule } from 'vitest/node';

import { faultsReport, type RanTest } from '../../test/support/faults-report.ts';
import { faultRows } from '../../test/support/faults-table.ts';

/** Reports on stdout, after vitest's own summary; says nothing after a run of some files alone. */
export class FaultsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const ran = new Map(modules.map((module) => [module.relativeModuleId.replace(/^test\//, ''), testsOf(module)]));
    const report = faultsReport(faultRows, ran);
    if (report !== null) process.stdout.write(`\n${report}\n`);
  }
}

function testsOf(module: TestModule): RanTest[] {
  return [...module.children.allTests()].map((test) => ({ name: test.name, state: test.result().state }));
}
