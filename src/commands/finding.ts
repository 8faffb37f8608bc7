/** What `check` finds. */

import { asFailure, Failure, type FailureCode } from '../errors.ts';
import { failuresText } from './failure-text.ts';
import { countText } from './measure.ts';
import { oneLine, printable } from './printable.ts';

export interface Finding {
  /** A sync would fail on an error, might not do what is meant on a warning; a note is worth knowing. */
  readonly severity: 'error' | 'warning' | 'note';
  /** The code a sync would fail with; null unless it is an error. */
  readonly code: FailureCode | null;
  readonly slice: string | null;
  readonly message: string;
  readonly hint: string | null;
}

/** What was thrown, as an error found. */
export function findingOf(thrown: unknown): Finding {
  const { code, message, hint } = asFailure(thrown);
  return { severity: 'error', code, slice: null, message, hint };
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

function subject(finding: Finding): string {
  return `${finding.slice === null ? '' : `slice ${finding.slice}: `}${printable(finding.message)}`;
}
