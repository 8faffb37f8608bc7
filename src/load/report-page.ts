/** What one body of an answer comes to: the page of a report, or why it is none. */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { besideRowsIn, errorIn, isNothing, parsedOf, warningsIn } from '../spool/beside-rows.ts';
import type { Envelope } from '../spool/columns/reading.ts';
import { type StatedMaturity, statedMaturity } from './evidence.ts';

/** One page of an answer. */
export interface SoundPage extends Pick<Envelope, 'badLabel'> {
  readonly rowCount: number;
  /** Keys that occur in some row. */
  readonly keys: ReadonlySet<string>;
  /** Keys that occur in every row. */
  readonly commonKeys: ReadonlySet<string>;
  /** Total per metric as the service wrote it; empty when it sent none. */
  readonly totals: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
  readonly maturity: StatedMaturity;
  /** What the answer says of further pages, parsed; null when it says nothing. */
  readonly pagination: unknown;
}

/** A page, or why it is not one whole report document. */
export type AnswerPage = SoundPage | { readonly because: string };

/** What a body comes to. */
export function pageOf({ rows, members, keys, commonKeys, badLabel, because }: Envelope): AnswerPage {
  const beside = besideRowsIn(members);
  const error = errorIn(beside);
  if (error !== null) return { because: `the service said ${error}` };
  if (because !== null) return { because };
  const mangled = (['totals', 'warnings', 'data_warnings', 'pagination'] as const).find(
    (name) => parsedOf(beside[name]) === undefined,
  );
  if (mangled !== undefined) {
    return { because: `its member ${mangled} was no JSON: ${scrub(beside[mangled] ?? '').slice(0, MOST_SAID)}` };
  }
  return {
    rowCount: rows,
    keys: new Set(keys),
    commonKeys: new Set(commonKeys),
    badLabel,
    totals: totalsOf(beside.totals),
    warnings: warningsIn(beside),
    maturity: statedMaturity(beside),
    pagination: isNothing(beside.pagination) ? null : parsedOf(beside.pagination),
  };
}

/** Characters of what is no JSON that a message repeats. */
const MOST_SAID = 100;

/** Numbers keep the text they were written with. */
function totalsOf(json: string | null): Map<string, string> {
  if (json === null) return new Map();
  const parsed = z.record(z.string(), z.unknown()).safeParse(JSON.parse(json));
  if (!parsed.success) return new Map();
  const written = [...json.matchAll(/"((?:[^"\\]|\\.)*)":\s*(?:"([^"]*)"|(-?[0-9][0-9.eE+-]*))/g)];
  return new Map(
    written.map(([, key = '', text, number]) => [z.string().parse(JSON.parse(`"${key}"`)), text ?? number ?? '']),
  );
}
