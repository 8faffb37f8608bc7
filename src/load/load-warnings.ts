/** The warnings that go with a loaded window. */

import type { Found } from './findings.ts';
import type { Sound } from './judge-answers.ts';
import type { LoadWarning } from './load-result.ts';

/** What is told of periods for which the service had no rows. */
export function emptyWarning(stretches: readonly string[]): LoadWarning[] {
  if (stretches.length === 0) return [];
  const message = `The service had no rows for ${stretches.join(', ')}; loaded as empty, and final only once a later run's answer agrees.`;
  return [{ code: 'EMPTY_PERIODS', message }];
}

/** What is odd about an answer that is loaded all the same. */
export function warningsOf(
  sound: Sound,
  { copies, rejects }: Found,
  { warnings, notAdditive }: { readonly warnings: readonly LoadWarning[]; readonly notAdditive: readonly string[] },
): LoadWarning[] {
  const rejected = rejects?.days.length ?? 0;
  return [
    ...sound.warnings,
    ...warnings,
    ...(copies === 0
      ? []
      : [
          {
            code: 'DUPLICATE_ROWS',
            message: `${copies} identical rows came more than once; one of each was kept.`,
          },
        ]),
    ...(rejected === 0
      ? []
      : [
          {
            code: 'REJECTED_ROWS',
            message: `${rejected} rows could not be stored exactly; see ripen.rejected_rows.`,
          },
        ]),
    ...[...new Set(notAdditive)].map((metric) => ({
      code: 'NOT_ADDITIVE',
      message: `The rows' ${metric} did not add up to the service's total while other metrics did: it is not additive here, and no longer summed.`,
    })),
  ];
}
