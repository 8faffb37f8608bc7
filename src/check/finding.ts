/** What `check` finds. */

import { settingName, type SettingPath } from '../config/config-problems.ts';
import type { StatedSettings } from '../config/read-config.ts';
import { asFailure, type FailureCode } from '../errors.ts';
import { failuresText, type PrintedFailure } from '../terminal/failure-text.ts';
import { countText } from '../terminal/measure.ts';
import { oneLine, printable } from '../terminal/printable.ts';
import { filled } from '../terminal/table.ts';

export interface Finding {
  /** A sync would fail on an error, might not do what is meant on a warning; a note is worth knowing; the rest is what was tried, and what was not. */
  readonly severity: 'error' | 'warning' | 'note' | 'works' | 'untried';
  /** The code a sync would fail with; null unless it is an error. */
  readonly code: FailureCode | null;
  readonly slice: string | null;
  /** The setting's dotted name, such as `slices[0].metrics[2]`; null when it is about none. */
  readonly setting: string | null;
  /** Where it stands, `file:line:column`; null when it is about none, or the configuration came from no file. */
  readonly place: string | null;
  readonly message: string;
  readonly hint: string | null;
}

/** What a finding is about. */
export type FindingPlace = Pick<Finding, 'slice' | 'setting' | 'place'>;

const nowhere: FindingPlace = { slice: null, setting: null, place: null };

/** A finding, about no slice and no setting unless a place says so. */
export function finding(
  severity: Finding['severity'],
  message: string,
  hint: string | null = null,
  place: FindingPlace = nowhere,
): Finding {
  return { severity, code: null, ...place, message, hint };
}

/** What was thrown, as an error found. */
export function findingOf(thrown: unknown, place: FindingPlace = nowhere): Finding & { readonly code: FailureCode } {
  const { code, message, hint } = asFailure(thrown);
  return { severity: 'error', code, ...place, message, hint };
}

/** A setting of a slice, or of none, itself or its value. One of the defaults is every slice's, so that none is named. */
export function placeOf(
  stated: StatedSettings,
  path: SettingPath,
  slice: string | null = null,
  at: 'key' | 'value' = 'value',
): FindingPlace {
  const named = path[0] === 'defaults' ? null : slice;
  return { slice: named, setting: settingName(path), place: stated.placeOf(path, at) };
}

/** Findings as they are, one that is repeated word for word once; a note that several slices share is one, of no slice. */
export function mergedNotes(findings: readonly Finding[]): Finding[] {
  const merged = new Map<string, Finding>();
  for (const each of findings) {
    const isShared = each.severity === 'note' && each.slice !== null;
    const key = JSON.stringify(isShared ? ['note', each.message] : each);
    const before = merged.get(key);
    const isOther = before !== undefined && before.slice !== each.slice;
    merged.set(key, isOther ? finding('note', each.message, each.hint) : (before ?? each));
  }
  return [...merged.values()];
}

/** The errors among the findings as failures, the place and the slice before their messages. */
export function failuresAmong(findings: readonly Finding[]): PrintedFailure[] {
  return findings.flatMap((each) =>
    each.code === null ? [] : [{ code: each.code, message: subject(each), hint: each.hint }],
  );
}

/** All findings, gravest first; what works and what was not tried; how many errors and warnings there were. */
export function findingsText(findings: readonly Finding[], columns: number | null): string {
  const of = (severity: Finding['severity']): Finding[] => findings.filter((each) => each.severity === severity);
  const errors = failuresAmong(findings);
  const warnings = of('warning');
  const works = of('works').map(({ message }) => `✓ ${oneLine(message)}`);
  const untried = of('untried').map(({ message }) => oneLine(message));
  return [
    failuresText(errors),
    ...[...warnings, ...of('note')].map((each) => {
      const hint = each.hint === null ? '' : `\n  hint: ${oneLine(each.hint)}`;
      return `${each.severity}: ${oneLine(subject(each))}${hint}`;
    }),
    filled(works, '  ', columns ?? Infinity),
    untried.length === 0 ? '' : `not tried: ${untried.join('; ')}`,
    `${countText(errors.length, 'error')}, ${countText(warnings.length, 'warning')}`,
  ]
    .filter((text) => text !== '')
    .join('\n');
}

/** The message behind its place and its slice; one of no slice behind the name of its setting. */
function subject({ place, slice, setting, message }: Finding): string {
  const about = slice === null ? (setting ?? '') : `slice ${slice}`;
  return [place ?? '', about, message]
    .filter((part) => part !== '')
    .map(printable)
    .join(': ');
}
