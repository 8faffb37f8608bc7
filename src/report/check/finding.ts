/** The findings of `check`, and their text. */

import { settingName, type SettingPath } from '../../config/config-problems.ts';
import type { StatedSettings } from '../../config/read-config.ts';
import { asFailure, type FailureCode, failureCodes } from '../../errors.ts';
import { failuresText, type PrintedFailure, withHint } from '../terminal/failure-text.ts';
import { countText } from '../../model/measure.ts';
import { oneLine, printable } from '../terminal/printable.ts';
import { filled } from '../terminal/table.ts';

export interface Finding {
  /** `error`: a sync would fail. `warning`: it may not do as meant. */
  readonly severity: 'error' | 'warning' | 'note' | 'works' | 'untried';
  /** The code a sync would fail with (null unless it is an error). */
  readonly code: FailureCode | null;
  readonly slice: string | null;
  /** Dotted, such as `slices[0].metrics[2]`. */
  readonly setting: string | null;
  /** `file:line:column`. */
  readonly place: string | null;
  readonly message: string;
  readonly hint: string | null;
}

export interface Checking {
  readonly at: Date;
  readonly stated: StatedSettings;
  readonly signal: AbortSignal;
}

export type FindingPlace = Pick<Finding, 'slice' | 'setting' | 'place'>;

export function finding(
  kind: Exclude<Finding['severity'], 'error'> | FailureCode,
  message: string,
  hint: string | null = null,
  place: Partial<FindingPlace> = {},
): Finding {
  const isCode = (word: string): word is FailureCode => Object.hasOwn(failureCodes, word);
  const [severity, code] = isCode(kind) ? (['error', kind] as const) : [kind, null];
  return { severity, code, slice: null, setting: null, place: null, ...place, message, hint };
}

export function findingOf(thrown: unknown, place?: FindingPlace): Finding {
  const { code, message, hint } = asFailure(thrown);
  return finding(code, message, hint, place);
}

/** A setting of `defaults` belongs to every slice, so no slice is named. */
export function placeOf(
  stated: StatedSettings,
  path: SettingPath,
  slice: string | null = null,
  at: 'key' | 'value' = 'value',
): FindingPlace {
  const owner = path[0] === 'defaults' ? null : slice;
  return { slice: owner, setting: settingName(path), place: stated.placeOf(path, at) };
}

/** Removes exact repetitions. A note that several slices share becomes one note of no slice. */
export function mergedNotes(findings: readonly Finding[]): Finding[] {
  const merged = new Map<string, Finding>();
  for (const item of findings) {
    const { severity, slice, message, hint } = item;
    const key = JSON.stringify(severity === 'note' && slice !== null ? message : item);
    const first = merged.get(key) ?? item;
    merged.set(key, first.slice === slice ? first : finding('note', message, hint));
  }
  return [...merged.values()];
}

export const failuresAmong = (findings: readonly Finding[]): PrintedFailure[] =>
  findings.flatMap((each) =>
    each.code === null ? [] : [{ code: each.code, message: subject(each), hint: each.hint }],
  );

export function findingsText(findings: readonly Finding[], columns: number | null): string {
  const of = (severity: Finding['severity']) =>
    findings.filter((finding) => finding.severity === severity);
  const errors = failuresAmong(findings);
  const warnings = of('warning');
  const works = of('works').map(({ message }) => `✓ ${oneLine(message)}`);
  const untried = of('untried')
    .map(({ message }) => oneLine(message))
    .join('; ');
  return [
    failuresText(errors),
    ...[...warnings, ...of('note')].map((each) =>
      withHint(`${each.severity}: ${oneLine(subject(each))}`, each.hint),
    ),
    filled(works, '  ', columns ?? Infinity),
    untried === '' ? '' : `not tried: ${untried}`,
    `${countText(errors.length, 'error')}, ${countText(warnings.length, 'warning')}`,
  ]
    .filter((text) => text !== '')
    .join('\n');
}

function subject({ place, slice, setting, message }: Finding) {
  const about = slice === null ? (setting ?? '') : `slice ${slice}`;
  return [place ?? '', about, message]
    .filter((part) => part !== '')
    .map(printable)
    .join(': ');
}
