/**
 * An entry of the archive: one window's complete answer, as it was requested and loaded. Pure.
 *
 * An entry is a directory `<requested at>.<first day>_<last day>.<letters>` with `window.json` and a compressed body per page.
 * `window.json` is written last and removed first: a killed run may leave a directory without it. Documents have checksums.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { type Day, lastDay, parseDay } from '../model/calendar.ts';
import { dueReasons } from '../model/window.ts';
import { receivedAtOf, requestedAtOf, type Spooled } from './spool.ts';

/** The file that makes a directory an entry. */
export const SIDECAR = 'window.json';

const dayShape = z.custom<Day>((value) => typeof value === 'string' && parseDay(value) !== null);
const interval = z.object({ start: dayShape, end: dayShape });
export const instantShape = z.iso.datetime().transform((text) => new Date(text));
const valueSet = z.object({ in: z.array(z.string()).nullable(), notIn: z.array(z.string()) });
/** A body; `no` is its number among all bodies of the entry. */
const bodyFile = z.object({
  no: z.number(),
  /** Checksum of the file's bytes, hexadecimal. */
  sha256: z.string(),
  bytes: z.number(),
  plainBytes: z.number(),
  encoding: z.literal('gzip'),
});

const entryShape = z.object({
  slice: z.string(),
  fingerprint: z.string(),
  metrics: z.array(z.string()),
  requested: interval,
  replaced: interval,
  periods: z
    .array(
      z.object({
        period: z.object({ bucket: interval, requested: interval }),
        reason: z.enum(dueReasons),
      }),
    )
    .min(1),
  parts: z.array(z.record(z.string(), valueSet)).min(1),
  requests: z.number(),
  requestedAt: instantShape,
  receivedAt: instantShape,
  /** The instant that counts as the fetch; null if `requestedAt` does. */
  asOf: instantShape.nullable(),
  /** One per request: one body per page (none for a 204), and why further pages were not followed, else null. */
  answers: z.array(
    z.object({
      partNo: z.number(),
      metrics: z.array(z.string()),
      bodies: z.array(bodyFile),
      unfollowed: z.string().nullable(),
    }),
  ),
});

export type BodyFile = z.infer<typeof bodyFile>;
export type ArchiveEntry = z.infer<typeof entryShape>;

/** An entry whose sidecar is whole; its bodies are not checked yet. */
export interface ArchivedWindow {
  readonly path: string;
  readonly entry: ArchiveEntry;
}

/** Something in the archive that cannot be loaded. */
export interface Damage {
  readonly path: string;
  readonly because: string;
}

/** Returns the window with only some of its periods; empty if no period is left. */
export function keepPeriods(
  { path, entry }: ArchivedWindow,
  isKept: (due: ArchiveEntry['periods'][number]) => boolean,
): ArchivedWindow[] {
  const periods = entry.periods.filter(isKept);
  return periods.length === 0 ? [] : [{ path, entry: { ...entry, periods } }];
}

/** The instant that counts as the fetch in every decision about finality. */
export function fetchedAtOf({
  asOf,
  requestedAt,
}: Pick<ArchiveEntry, 'asOf' | 'requestedAt'>): Date {
  return asOf ?? requestedAt;
}

/** The answers with a window's rows: its control totals are of the night they were stated in. */
export const rowAnswers = (answers: Spooled['answers']): Spooled['answers'] =>
  answers.filter(({ box }) => box.control === null);

/** The content of an answer's sidecar; `bodies` are the archived ones, in the order of the pages. */
export function entryOf(
  { window, answers: all }: Spooled,
  asOf: Date | null,
  bodies: readonly BodyFile[],
): object {
  const { slice, fingerprint, requested, replaced, periods, parts } = window;
  const answers = rowAnswers(all);
  const unassigned = [...bodies];
  const archived = answers.map(({ box: { partNo, metrics }, pages, unfollowed }) => {
    return { partNo, metrics, bodies: unassigned.splice(0, pages.length), unfollowed };
  });
  const of = {
    slice: slice.name,
    fingerprint,
    metrics: slice.metrics,
    requested,
    replaced,
    periods,
    parts,
  };
  return {
    ...of,
    requests: answers.reduce((sum, answer) => sum + answer.requests, 0),
    requestedAt: requestedAtOf(all),
    receivedAt: receivedAtOf(all),
    asOf,
    answers: archived,
  };
}

/** Returns the entry that a sidecar describes, or a text that says what is wrong with it. */
export const parseSidecar = (text: string): ArchiveEntry | string =>
  parseDocument(text, entryShape);

/** The file name of a body inside its entry, by its number; the extension tells DuckDB the encoding. */
export const bodyName = (no: number): string => `part-${no}.json.gz`;

/** How the names of entries requested at an instant begin; names sort by it. */
export const instantName = (at: Date): string => at.toISOString().replaceAll(/[-:.]/g, '');

/** The name of a window's entry without the letters that make it unique. */
export function entryStem({
  window: { requested },
  answers,
}: Pick<Spooled, 'window' | 'answers'>): string {
  return `${instantName(requestedAtOf(answers))}.${requested.start}_${lastDay(requested)}.`;
}

/** Whether a name has the form of an entry's name. */
export const isEntryName = (name: string): boolean => /^\d{8}T\d{9}Z\.[\d_-]{21}\.\w+$/.test(name);

/** The text of a document with its checksum; the content must survive JSON. */
export function documentText(content: unknown): string {
  const text = JSON.stringify(content);
  return `{"sha256":"${checksumOf(text)}","content":${text}}\n`;
}

/** Returns the content of a document, or a text that says what is wrong with the document. */
export function parseDocument<T extends object>(text: string, shape: z.ZodType<T>): T | string {
  const [, sha256, content = ''] = /^\{"sha256":"(\w+)","content":(.*)\}\n$/s.exec(text) ?? [];
  if (sha256 !== checksumOf(content)) return 'did not match its checksum';
  const found = shape.safeParse(JSON.parse(content));
  return found.success ? found.data : 'had missing or invalid fields';
}

const checksumOf = (text: string): string => createHash('sha256').update(text).digest('hex');
