/**
 * An entry of the archive: one window's complete answer, as it was asked for and loaded. Pure.
 *
 * An entry is a directory `<requested at>.<first day>_<last day>.<number>` with one compressed body per part of the
 * window, and `window.json`, whose unfinished form lies there from the first on and takes its name last. The sidecar carries no header and no
 * credential; like every document of the archive it stands under a checksum of itself.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { type Day, lastDay, parseDay, startOfDayAt, UTC } from '../model/calendar.ts';
import { dueReasons, reportParameters, type Window } from '../model/window.ts';
import type { Spooled } from './spool.ts';

/** The file that makes a directory an entry. */
export const SIDECAR = 'window.json';

/** Lies in an entry that is not whole yet, or not any more: nothing else does that a killed run may have left. */
export const UNFINISHED = unfinished(SIDECAR);

/** Where a document is written before it takes its name. */
export function unfinished(path: string): string {
  return `${path}.part`;
}

export const dayShape = z.custom<Day>((value) => typeof value === 'string' && parseDay(value) !== null);
const interval = z.object({ start: dayShape, end: dayShape });
export const instantShape = z.iso.datetime().transform((text) => new Date(text));
const valueSet = z.object({ in: z.array(z.string()).nullable(), notIn: z.array(z.string()) });
const bodyFile = z.object({
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
  asked: interval,
  replaced: interval,
  periods: z
    .array(z.object({ period: z.object({ bucket: interval, asked: interval }), reason: z.enum(dueReasons) }))
    .min(1),
  parts: z.array(z.record(z.string(), valueSet)).min(1),
  /** As sent, one set per part; for people, as the fingerprint says what they meant. */
  parameters: z.array(z.record(z.string(), z.string())),
  requests: z.number(),
  requestedAt: instantShape,
  receivedAt: instantShape,
  /** The instant that stood for the fetch; null: `requestedAt` did. */
  asOf: instantShape.nullable(),
  /** One per page of each part; null: the service said there is nothing (204). */
  bodies: z.array(bodyFile.nullable()),
  /** How many of the bodies belong to each part, in order; one each where it is left out. */
  pages: z.array(z.number()).optional(),
  /** Why the pages of each part were not followed to their end; null where they were, or it is left out. */
  unfollowed: z.array(z.string().nullable()).optional(),
  /** What showed the rows to be all there are where pages were not followed; left out where all were. */
  whole: z
    .object({ totals: z.array(z.tuple([z.string(), z.string()])), rows: z.array(z.record(z.string(), z.unknown())) })
    .optional(),
});

export type BodyFile = z.infer<typeof bodyFile>;
export type ArchiveEntry = z.infer<typeof entryShape>;

/** An entry whose sidecar is whole; its bodies were not looked at yet. */
export interface ArchivedWindow {
  /** Its directory. */
  readonly path: string;
  readonly entry: ArchiveEntry;
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

/**
 * The entry as it counts at `now`: a fetch that has not come was dated by a clock that was ahead, and counts as of when its days
 * began. One whose days have not begun stays as it is.
 */
export function believedEntry(entry: ArchiveEntry, now: Date): ArchiveEntry {
  const begunAt = startOfDayAt(entry.replaced.start, UTC);
  return fetchedAtOf(entry) > now && begunAt <= now ? { ...entry, asOf: begunAt } : entry;
}

/** The sidecar of a window's answer; one body per page. */
export function sidecarText(
  { window, answers, byYear, requests, requestedAt, receivedAt }: Spooled,
  asOf: Date | null,
  bodies: readonly (BodyFile | null)[],
): string {
  return documentText({
    slice: window.slice.name,
    fingerprint: window.fingerprint,
    metrics: window.slice.metrics,
    asked: window.asked,
    replaced: window.replaced,
    periods: window.periods,
    parts: window.parts,
    parameters: window.parts.map((part) => scrubbed(reportParameters(window, part))),
    requests,
    requestedAt,
    receivedAt,
    asOf,
    bodies,
    pages: answers.map(({ pages }) => Math.max(1, pages.length)),
    unfollowed: answers.map(({ unfollowed }) => unfollowed),
    ...(byYear !== null && !('because' in byYear) ? { whole: { totals: [...byYear.totals], rows: byYear.rows } } : {}),
  });
}

/** The entry of a sidecar, or what is wrong with it. */
export function parseSidecar(text: string): ArchiveEntry | Flaw {
  const entry = parseDocument(text, entryShape, `its ${SIDECAR}`);
  if ('because' in entry) return entry;
  const pages = entry.pages ?? entry.parts.map(() => 1);
  const expected = pages.reduce((sum, each) => sum + each, 0);
  if (pages.length === entry.parts.length && expected === entry.bodies.length) return entry;
  return { because: `it had ${entry.bodies.length} bodies for ${entry.parts.length} parts` };
}

function scrubbed(parameters: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, scrub(value)]));
}

/** The file of a body inside its entry; the ending tells DuckDB how it is encoded. */
export function bodyName(bodyNo: number): string {
  return `part-${bodyNo + 1}.json.gz`;
}

/** The name of a window's entry, without its number. */
export function entryStem(window: Pick<Window, 'asked'>, requestedAt: Date): string {
  const at = requestedAt.toISOString().replaceAll(/[-:.]/g, '');
  return `${at}.${window.asked.start}_${lastDay(window.asked)}`;
}

export interface EntryName {
  readonly requestedAt: Date;
  /** Whether the entry was found to be corrupt, and renamed. */
  readonly isSetAside: boolean;
}

const entryName =
  /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z\.\d{4}-\d{2}-\d{2}_\d{4}-\d{2}-\d{2}\.\d+(\.corrupt(?:\.\d+)?)?$/;

/** What an entry's name says; null for a name that the archive does not give. */
export function parseEntryName(name: string): EntryName | null {
  const found = entryName.exec(name);
  if (found === null) return null;
  const [, year, month, day, hour, minute, second, ms, ending] = found;
  const requestedAt = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
  return Number.isNaN(requestedAt.getTime()) ? null : { requestedAt, isSetAside: ending !== undefined };
}

/** Counts up with a change that an older ripen would misread. */
const FORMAT = 1;

const documentShape = z.object({ format: z.literal(FORMAT), sha256: z.string(), content: z.unknown() });
const newerShape = z.object({ format: z.int().gt(FORMAT) });

/** What is wrong with something found in the archive. */
export interface Flaw {
  readonly because: string;
  /** Set where the disk refused to read it: what it holds may be whole. */
  readonly isUnread?: true;
  /** Set where a newer version wrote it, which can load it. */
  readonly isNewer?: true;
}

/** Something in the archive that cannot be loaded. */
export interface Damage extends Flaw {
  readonly path: string;
}

/** The content as a document; it has to survive JSON. */
export function documentText(content: unknown): string {
  return `${JSON.stringify({ format: FORMAT, sha256: checksumOf(content), content })}\n`;
}

/** A document's content in its shape, or what is wrong with it; `name` is what the reader knows it by. */
export function parseDocument<T extends object>(text: string, shape: z.ZodType<T>, name: string): T | Flaw {
  const json = parsedJson(text);
  const newer = newerShape.safeParse(json);
  if (newer.success) {
    return { because: `${name} had format ${newer.data.format}; this program knows ${FORMAT}`, isNewer: true };
  }
  const document = documentShape.safeParse(json);
  if (!document.success) return { because: `${name} was not of the archive's form` };
  if (checksumOf(document.data.content) !== document.data.sha256) {
    return { because: `the checksum of ${name} did not match` };
  }
  const content = shape.safeParse(document.data.content);
  return content.success ? content.data : { because: `${name} did not hold what it should` };
}

/** The name that what cannot be loaded gets, so that it is met only once; numbered from 1. */
export function asideName(path: string, number: number): string {
  return number === 1 ? `${path}.corrupt` : `${path}.corrupt.${number}`;
}

/** Whether a name was given to what cannot be loaded. */
export const isSetAside = (name: string): boolean => /\.corrupt(\.\d+)?$/.test(name);

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function checksumOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
