/** Merges failures with the same cause into one that says where and how often it happened. Pure. */

import type { RunFailure } from './status-report.ts';

/** Merges failures of one code, hint and cause. The slice or window is null if it differs within the group. */
export function groupedFailures<F extends RunFailure>(
  failures: readonly F[],
): (F & { readonly count: number })[] {
  const groups = new Map<string, F[]>();
  for (const failure of failures) {
    const key = JSON.stringify([failure.code, causeOf(failure), failure.hint]);
    groups.set(key, [...(groups.get(key) ?? []), failure]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const slice = group.every((each) => each.slice === first.slice) ? first.slice : null;
    const window = group.every((each) => each.window === first.window) ? first.window : null;
    const count = group.reduce((sum, each) => sum + (each.count ?? 1), 0);
    return [{ ...first, slice, window, message: messageOf(first, group), count }];
  });
}

function causeOf({ slice, message }: RunFailure): string {
  return (slice === null ? message : message.replaceAll(slice, '')).replaceAll(VARYING, '#');
}

/** Days, instants, and measures such as `34 s` or `1,204 rows`. */
const VARYING =
  /\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|\d[\d.,]* (?:ms|s|min|B|KiB|MiB|rows?|periods?|times|tries)\b/g;

function messageOf(first: RunFailure, group: readonly RunFailure[]): string {
  const { slice, message } = first;
  if (slice === null) return message;
  const slices = new Set(group.map((failure) => failure.slice));
  const windows = group.map(({ window }) => window).filter((window) => window !== null);
  const days = windows.flatMap((window) => window.split(':')).toSorted();
  const span = windows.length < 2 ? '' : ` from ${days.at(0) ?? ''} to ${days.at(-1) ?? ''}`;
  if (slices.size > 1)
    return `${slices.size} slices, ${group.length} requests${span}, first: ${placed(first)}`;
  return windows.length < 2
    ? placed(first)
    : `${slice}, ${windows.length} windows${span}: ${message}`;
}

function placed({ slice, window, message }: RunFailure): string {
  const name = slice ?? '';
  if (['slice ', ''].some((word) => message.startsWith(word + name))) return message;
  return `${window === null ? name : `${name} ${window}`}: ${message}`;
}
