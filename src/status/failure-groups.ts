/** Failures that say the same of several windows, as one that names them all; pure. */

import type { RunFailure } from './status-report.ts';

/** A failure whose message says where it happened. */
export type PlacedFailure<F extends RunFailure> = Pick<F, 'code' | 'message' | 'hint'>;

/** One for each slice and message, in the order of their first: a service that refuses a slice refuses every window. */
export function groupedFailures<F extends RunFailure>(failures: readonly F[]): PlacedFailure<F>[] {
  const groups = new Map<string, F[]>();
  for (const failure of failures) {
    const key = JSON.stringify([failure.code, failure.slice, failure.message]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [failure]);
    else group.push(failure);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const windows = group.map(({ window }) => window).filter((window) => window !== null);
    const { slice } = first;
    if (slice === null || saysPlace(first.message, slice)) return [first];
    return [{ ...first, message: `${placeText(slice, windows)}: ${first.message}` }];
  });
}

/** Most messages say themselves which slice they are about. */
function saysPlace(message: string, slice: string): boolean {
  return message.startsWith(`slice ${slice}`) || message.startsWith(`${slice} `) || message.startsWith(`${slice}:`);
}

function placeText(slice: string, windows: readonly string[]): string {
  const [only] = windows;
  if (only === undefined) return slice;
  if (windows.length === 1) return `${slice} ${only}`;
  const days = windows.flatMap((window) => window.split(':')).toSorted();
  return `${slice}, ${windows.length} windows from ${days.at(0) ?? ''} to ${days.at(-1) ?? ''}`;
}
