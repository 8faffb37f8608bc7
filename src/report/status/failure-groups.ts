/** Merges what has one cause, and says what to set after the service refused the token. */

import { readFile } from 'node:fs/promises';

import { alike } from '../../model/alike.ts';
import { countText, sumOf } from '../../model/measure.ts';
import type { RunFailure } from './status-report.ts';

/** Such as `34 s`. */
const VARYING =
  /\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?|\d[\d.,]* (?:ms|s|min|B|KiB|MiB|rows?|periods?|times|tries)\b/g;

/** Merges failures of one code, hint and cause. Their slice, window or target is left out if it differs within the group. */
export function groupedFailures<F extends RunFailure>(
  failures: readonly F[],
): (F & { readonly count: number })[] {
  const groups = alike(failures, ({ slice, message, code, hint }) => {
    const cause = slice === null ? message : message.replaceAll(slice, '');
    return JSON.stringify([code, cause.replaceAll(VARYING, '#'), hint]);
  });
  return groups.map((group) => {
    const [first] = group;
    const { slice, window, message } = first;
    const slices = new Set(group.map((failure) => failure.slice));
    const windows = group.flatMap((failure) => failure.window ?? []);
    const days = windows.flatMap((range) => range.split(':')).toSorted();
    const span = windows.length < 2 ? '' : ` from ${days[0]} to ${days.at(-1)}`;
    const name = slice ?? '';
    const isNamed = [`slice ${name}`, name].some((words) => message.startsWith(words));
    let text = isNamed ? message : `${window === null ? name : `${name} ${window}`}: ${message}`;
    if (slices.size > 1 && slice !== null)
      text = `${slices.size} slices, ${group.length} requests${span}, first: ${text}`;
    else if (windows.length > 1 && slice !== null)
      text = `${slice}, ${windows.length} windows${span}: ${message}`;
    const isShared = (field: 'window' | 'target') =>
      group.every((failure) => failure[field] === first[field]);
    return Object.assign({}, first, {
      slice: slices.size > 1 ? null : slice,
      window: isShared('window') ? window : null,
      ...(isShared('target') ? {} : { target: undefined }),
      message: text,
      count: sumOf(group.map(({ count = 1 }) => count)),
    });
  });
}

/** Groups items that differ only in their slice, and names their slices: `daily and 2 other slices`. */
export function alikeSlices<I extends { readonly slice: string | null }>(
  items: readonly I[],
): { readonly slices: string | null; readonly first: I; readonly count: number }[] {
  const groups = alike(items, (item) => JSON.stringify({ ...item, slice: item.slice === null }));
  return groups.map(([first, ...others]) => {
    const more = others.length === 0 ? '' : ` and ${countText(others.length, 'other slice')}`;
    const slices = first.slice === null ? null : `${first.slice}${more}`;
    return { slices, first, count: 1 + others.length };
  });
}

export async function tokenHint(file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const at = lines.findIndex((line) =>
    /^\s*["']?token(?:_file)?["']?\s*:|[{,]\s*token(?:_file)?\s*:/.test(line),
  );
  const line = lines[at] ?? '';
  const isFile = /token_file/.test(line);
  const place = `service.token${isFile ? '_file' : ''}${at === -1 ? '' : ` (${file}:${at + 1})`}`;
  const [, variable] = /token(?:_file)?["']?\s*:\s*["']?\$\{(\w+)/.exec(line) ?? [];
  const what = variable === undefined ? place : `the variable ${variable}, which ${place} reads,`;
  return `Set ${what} to ${isFile ? 'a file with a valid token' : 'a valid token'}; a token becomes invalid as soon as it is reset.`;
}
