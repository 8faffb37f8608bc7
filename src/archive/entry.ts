/**
 * An entry of the archive: one window's complete answer, as it was requested and loaded. Pure.
 *
 * An entry is a directory `<requested at>.<first day>_<last day>.<letters>` with one compressed body per page, and `window.json`,
 * which is written last and removed first: without it a directory is what a killed run left. Every document stands under a checksum
 * of itself.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { type Day, lastDay, parseDay } from '../model/calendar.ts';
import { dueReasons } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';

/** The file that makes a directory an entry. */
export const SIDECAR = 'window.json';

const dayShape = z.custom<Day>((value) => typeof value === 'string' && parseDay(value) !== null);
const interval = z.object({ start: dayShape, end: dayShape });
export const instantShape = z.iso.datetime().transform((text) => new Date(text));
const valueSet = z.object({ in: z.array(z.string()).nullable(), notIn: z.array(z.string()) });
/** A body, by its number among all of the entry. */
const bodyFile = z.object({
  no: z.number(),
  /** Of the file's bytes, hexadecimal. */
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
    .array(z.object({ period: z.object({ bucket: interval, requested: interval }), reason: z.enum(dueReasons) }))
    .min(1),
  parts: z.array(z.record(z.string(), valueSet)).min(1),
  requests: z.number(),
  requestedAt: instantShape,
  receivedAt: instantShape,
  /** The instant that stood for the fetch; null: `requestedAt` did. */
  asOf: instantShape.nullable(),
  /** What was requested of which part, one body per page (none: the service said 204), and why its pages were not followed to their end. */
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

/** An entry whose sidecar is whole; its bodies were not looked at yet. */
export interface ArchivedWindow {
  /** Its directory. */
  readonly path: string;
  readonly entry: ArchiveEntry;
}

/** Something in the archive that cannot be loaded. */
export interface Damage {
  readonly path: string;
  readonly because: string;
}

/** The window with some of its periods; none where none is left. */
export function narrowed(
  { path, entry }: ArchivedWindow,
  isKept: (due: ArchiveEntry['periods'][number]) => boolean,
): ArchivedWindow[] {
  const periods = entry.periods.filter(isKept);
  return periods.length === 0 ? [] : [{ path, entry: { ...entry, periods } }];
}

/** The instant that counts as the fetch in every finality decision. */
export function fetchedAtOf({ asOf, requestedAt }: Pick<ArchiveEntry, 'asOf' | 'requestedAt'>): Date {
  return asOf ?? requestedAt;
}

/** What the sidecar of an answer holds, with its bodies as they were kept, in the order of its pages. */
export function entryOf(
  { window, answers, requests, requestedAt, receivedAt }: Spooled,
  asOf: Date | null,
  bodies: readonly BodyFile[],
): object {
  const { slice, fingerprint, requested, replaced, periods, parts } = window;
  const left = [...bodies];
  const kept = answers.map(({ partNo, metrics, pages, unfollowed }) => {
    return { partNo, metrics, bodies: left.splice(0, pages.length), unfollowed };
  });
  const of = { slice: slice.name, fingerprint, metrics: slice.metrics, requested, replaced, periods, parts };
  return { ...of, requests, requestedAt, receivedAt, asOf, answers: kept };
}

/** The entry of a sidecar; a text says what is wrong with it. */
export const parseSidecar = (text: string): ArchiveEntry | string => parseDocument(text, entryShape);

/** The file of a body inside its entry, by its number among all of them; the ending tells DuckDB how it is encoded. */
export const bodyName = (no: number): string => `part-${no}.json.gz`;

/** How the names of entries begin that were requested at an instant: they sort by it. */
export const instantName = (at: Date): string => at.toISOString().replaceAll(/[-:.]/g, '');

/** The name of a window's entry, without the letters that make it one of its own. */
export function entryStem({ window: { requested }, requestedAt }: Pick<Spooled, 'window' | 'requestedAt'>): string {
  return `${instantName(requestedAt)}.${requested.start}_${lastDay(requested)}.`;
}

/** Whether the archive gives such names to its entries. */
export const isEntryName = (name: string): boolean => /^\d{8}T\d{9}Z\.[\d_-]{21}\.\w+$/.test(name);

/** The content as a document; it has to survive JSON. */
export function documentText(content: unknown): string {
  const text = JSON.stringify(content);
  return `{"sha256":"${checksumOf(text)}","content":${text}}\n`;
}

/** A document's content in its shape; a text says what is wrong with the document. */
export function parseDocument<T extends object>(text: string, shape: z.ZodType<T>): T | string {
  const [, sha256, content = ''] = /^\{"sha256":"(\w+)","content":(.*)\}\n$/s.exec(text) ?? [];
  if (sha256 !== checksumOf(content)) return 'did not match its checksum';
  const found = shape.safeParse(JSON.parse(content));
  return found.success ? found.data : 'lacked what it should hold';
}

const checksumOf = (text: string): string => createHash('sha256').update(text).digest('hex');
