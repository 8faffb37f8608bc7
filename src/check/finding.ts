/** What `check` finds. */

import { settingName, type SettingPath } from '../config/config-problems.ts';
import type { StatedSettings } from '../config/stated-settings.ts';
import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { failuresText } from '../terminal/failure-text.ts';
import { countText } from '../terminal/measure.ts';
import { oneLine, printable } from '../terminal/printable.ts';

export interface Finding {
  /** A sync would fail on an error, might not do what is meant on a warning; a note is worth knowing. */
  readonly severity: 'error' | 'warning' | 'note';
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

/** What is said of a setting, before its place in the file is known. */
export interface Remark {
  readonly severity: Finding['severity'];
  readonly code?: FailureCode;
  readonly path: SettingPath;
  /** Whether it is the key itself or what it is set to, which is usual. */
  readonly at?: 'key' | 'value';
  readonly message: string;
  readonly hint: string | null;
}

/** What was thrown, as an error found. */
export function findingOf(thrown: unknown): Finding {
  const { code, message, hint } = asFailure(thrown);
  return { severity: 'error', code, slice: null, setting: null, place: null, message, hint };
}

/**
 * Remarks on a slice, or on none, with their places; without those on a setting that is wrong by itself, which was told.
 * A setting of the defaults is every slice's, so that none is named.
 */
export function placed(remarks: readonly Remark[], slice: string | null, stated: StatedSettings): Finding[] {
  return remarks
    .filter(({ path }) => !stated.isWrong(path))
    .map(({ severity, code = null, path, at = 'value', message, hint }) => ({
      severity,
      code,
      slice: path[0] === 'defaults' ? null : slice,
      setting: settingName(path),
      place: stated.placeOf(path, at),
      message,
      hint,
    }));
}

/** Findings as they are, one that is repeated word for word once. */
export function toldOnce(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
}

/** The errors among the findings as failures, for their exit code. */
export function failuresAmong(findings: readonly Finding[]): Failure[] {
  return findings.flatMap((finding) => (finding.code === null ? [] : [new Failure(finding.code, finding.message)]));
}

/** All findings, gravest first, and how many there were. */
export function findingsText(findings: readonly Finding[]): string {
  const errors = findings.flatMap((finding) =>
    finding.code === null ? [] : [{ ...finding, code: finding.code, message: subject(finding) }],
  );
  const others = findings.filter((finding) => finding.code === null);
  return [
    ...(errors.length === 0 ? [] : [failuresText(errors)]),
    ...others.filter(({ severity }) => severity === 'warning').map(lineOf),
    ...others.filter(({ severity }) => severity === 'note').map(lineOf),
    [
      countText(errors.length, 'error'),
      countText(others.filter(({ severity }) => severity === 'warning').length, 'warning'),
    ].join(', '),
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
