/** What `check` finds. */

import { settingName, type SettingPath } from '../config/config-problems.ts';
import type { StatedSettings } from '../config/read-config.ts';
import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { failuresText } from '../terminal/failure-text.ts';
import { countText } from '../terminal/measure.ts';
import { oneLine, printable } from '../terminal/printable.ts';

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

/** What is wrong with a setting, before its place in the file is known. */
export interface Remark {
  readonly severity: Finding['severity'];
  readonly code?: FailureCode;
  readonly path: SettingPath;
  /** Whether it is the key itself or its value, which is usual. */
  readonly at?: 'key' | 'value' | undefined;
  readonly message: string;
  readonly hint: string | null;
}

/** A finding about no slice and no setting. */
export function finding(severity: Finding['severity'], message: string, hint: string | null = null): Finding {
  return { severity, code: null, slice: null, setting: null, place: null, message, hint };
}

/** What was thrown, as an error found. */
export function findingOf(thrown: unknown): Finding {
  const { code, message, hint } = asFailure(thrown);
  return { ...finding('error', message, hint), code };
}

/** Remarks on a slice, or on none, with their places. A setting of the defaults is every slice's, so that none is named. */
export function placed(remarks: readonly Remark[], slice: string | null, stated: StatedSettings): Finding[] {
  return remarks.map(({ severity, code = null, path, at = 'value', message, hint }) => ({
    severity,
    code,
    slice: path[0] === 'defaults' ? null : slice,
    setting: settingName(path),
    place: stated.placeOf(path, at),
    message,
    hint,
  }));
}

/** Findings as they are, one that is repeated word for word once; a note that several slices share is one, of no slice. */
export function mergedNotes(findings: readonly Finding[]): Finding[] {
  const merged = new Map<string, Finding>();
  for (const each of findings) {
    const isShared = each.severity === 'note' && each.slice !== null;
    const key = JSON.stringify(isShared ? ['note', each.message] : each);
    const before = merged.get(key);
    const isOther = before !== undefined && before.slice !== each.slice;
    merged.set(key, isOther ? { ...finding('note', each.message, each.hint), slice: null } : (before ?? each));
  }
  return [...merged.values()];
}

/** The errors among the findings as failures, for their exit code. */
export function failuresAmong(findings: readonly Finding[]): Failure[] {
  return findings.flatMap(({ code, message }) => (code === null ? [] : [new Failure(code, message)]));
}

/** All findings, gravest first; what works and what was not tried on a line each; how many errors and warnings there were. */
export function findingsText(findings: readonly Finding[]): string {
  const of = (severity: Finding['severity']): Finding[] => findings.filter((each) => each.severity === severity);
  const errors = findings.flatMap((each) =>
    each.code === null ? [] : [{ ...each, code: each.code, message: subject(each) }],
  );
  const warnings = of('warning');
  const works = of('works').map(({ message }) => `✓ ${oneLine(message)}`);
  const untried = of('untried').map(({ message }) => oneLine(message));
  return [
    ...(errors.length === 0 ? [] : [failuresText(errors)]),
    ...[...warnings, ...of('note')].map(lineOf),
    ...(works.length === 0 ? [] : [works.join('  ')]),
    ...(untried.length === 0 ? [] : [`not tried: ${untried.join('; ')}`]),
    `${countText(errors.length, 'error')}, ${countText(warnings.length, 'warning')}`,
  ].join('\n');
}

function lineOf(finding: Finding): string {
  const hint = finding.hint === null ? '' : `\n  hint: ${oneLine(finding.hint)}`;
  return `${finding.severity}: ${oneLine(subject(finding))}${hint}`;
}

/** The message behind its place and its slice; one of no slice behind the name of its setting. */
function subject({ place, slice, setting, message }: Finding): string {
  const about = slice === null ? setting : `slice ${slice}`;
  return [place, about, message]
    .filter((part) => part !== null && part !== '')
    .map((part) => printable(part ?? ''))
    .join(': ');
}
