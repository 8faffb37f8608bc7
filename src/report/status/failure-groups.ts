/** Merges what has one cause into one that says where and how often it happened. Pure. */

import type { RunFailure } from './status-report.ts';

/** Days, instants, and measures such as `34 s` or `1,204 rows`. */
const VARYING =
  /\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|\d[\d.,]* (?:ms|s|min|B|KiB|MiB|rows?|periods?|times|tries)\b/g;

/** Merges failures of one code, hint and cause. The slice or window is null if it differs within the group. */
export function groupedFailures<F extends RunFailure>(
  failures: readonly F[],
): (F & { readonly count: number })[] {
  const groups = new Map<string, [F, ...F[]]>();
  for (const failure of failures) {
    const { slice, message, code, hint } = failure;
    const cause = (slice === null ? message : message.replaceAll(slice, '')).replaceAll(
      VARYING,
      '#',
    );
    const key = JSON.stringify([code, cause, hint]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [failure]);
    else group.push(failure);
  }
  const merged: (F & { readonly count: number })[] = [];
  for (const group of groups.values()) {
    const [first] = group;
    const slices = new Set(group.map(({ slice }) => slice));
    const windows = group.map(({ window }) => window).filter((window) => window !== null);
    const days = windows.flatMap((window) => window.split(':')).toSorted();
    const span = windows.length < 2 ? '' : ` from ${days.at(0) ?? ''} to ${days.at(-1) ?? ''}`;
    const { slice, window, message } = first;
    const name = slice ?? '';
    const isNamed = [`slice ${name}`, name].some((words) => message.startsWith(words));
    let text = isNamed ? message : `${window === null ? name : `${name} ${window}`}: ${message}`;
    if (slices.size > 1 && slice !== null)
      text = `${slices.size} slices, ${group.length} requests${span}, first: ${text}`;
    else if (windows.length > 1 && slice !== null)
      text = `${slice}, ${windows.length} windows${span}: ${message}`;
    merged.push({
      ...first,
      slice: slices.size > 1 ? null : slice,
      window: group.every((failure) => failure.window === window) ? window : null,
      message: text,
      count: group.reduce((sum, failure) => sum + (failure.count ?? 1), 0),
    });
  }
  return merged;
}

/** Groups items that are the same but for their slice, and says of which slices: `daily`, `daily and 2 other slices`. */
export function alikeSlices<I extends { readonly slice: string | null }>(
  items: readonly I[],
): { readonly slices: string | null; readonly first: I; readonly count: number }[] {
  const groups = new Map<string, [I, ...I[]]>();
  for (const item of items) {
    const key = JSON.stringify({ ...item, slice: item.slice === null });
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return [...groups.values()].map(([first, ...others]) => {
    const more = `${others.length} other slice${others.length === 1 ? '' : 's'}`;
    const slices =
      first.slice === null || others.length === 0 ? first.slice : `${first.slice} and ${more}`;
    return { slices, first, count: 1 + others.length };
  });
}
