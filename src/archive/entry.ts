/**
 * An entry of the archive: one window's complete answer, as it was asked for and loaded. Pure.
 *
 * An entry is a directory `<requested at>.<first day>_<last day>.<number>` with one compressed body per page, and `window.json`.
 * The sidecar carries no header and no credential; like every document of the archive it stands under a checksum of itself.
 */

import { createHash } from 'node:crypto';

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { type Day, lastDay, parseDay } from '../model/calendar.ts';
import { dueReasons, reportParameters, type Window } from '../model/window.ts';
import type { Spooled } from '../spool/spool.ts';

/** The file that makes a directory an entry. */
export const SIDECAR = 'window.json';

const dayShape = z.custom<Day>((value) => typeof value === 'string' && parseDay(value) !== null);
const interval = z.object({ start: dayShape, end: dayShape });
const instantShape = z.iso.datetime().transform((text) => new Date(text));
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
  /** As sent, one set per request; for people, as the fingerprint says what they meant. */
  parameters: z.array(z.record(z.string(), z.string())),
  requests: z.number(),
  requestedAt: instantShape,
  receivedAt: instantShape,
  /** The instant that stood for the fetch; null: `requestedAt` did. */
  asOf: instantShape.nullable(),
  /** One per page of each answer; null: the service said there is nothing (204). */
  bodies: z.array(bodyFile.nullable()),
  /** What was requested of which part in each answer, how many of the bodies it has, and why its pages were not followed to their end. */
  answers: z.array(
    z.object({
      partNo: z.number(),
      metrics: z.array(z.string()),
      pages: z.number(),
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

/** The sidecar of a window's answer; one body per page. */
export function sidecarText(
  { window, answers, requests, requestedAt, receivedAt }: Spooled,
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
    parameters: answers.map(({ partNo, metrics }) =>
      scrubbed(reportParameters(window, { part: window.parts[partNo] ?? {}, metrics })),
    ),
    requests,
    requestedAt,
    receivedAt,
    asOf,
    bodies,
    answers: answers.map(({ partNo, metrics, pages, unfollowed }) => {
      return { partNo, metrics, pages: Math.max(1, pages.length), unfollowed };
    }),
  });
}

/** The entry of a sidecar; a text says what is wrong with it. */
export function parseSidecar(text: string): ArchiveEntry | string {
  const entry = parseDocument(text, entryShape);
  if (typeof entry === 'string') return `its ${SIDECAR} ${entry}`;
  const { answers, bodies, parts } = entry;
  const expected = answers.reduce((sum, { pages }) => sum + pages, 0);
  const answered = new Set(answers.map(({ partNo }) => partNo));
  if (parts.every((_, partNo) => answered.has(partNo)) && expected === bodies.length) return entry;
  return `it had ${bodies.length} bodies for ${parts.length} parts`;
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

const entryName = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{3})Z\.\d{4}-\d{2}-\d{2}_\d{4}-\d{2}-\d{2}\.\d+$/;

/** When an entry of the name was requested; null for a name that the archive does not give. */
export function requestedAtOf(name: string): Date | null {
  const found = entryName.exec(name);
  if (found === null) return null;
  const [, year, month, day, hour, minute, second, ms] = found;
  const requestedAt = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
  return Number.isNaN(requestedAt.getTime()) ? null : requestedAt;
}

const documentShape = z.object({ sha256: z.string(), content: z.unknown() });

/** Something in the archive that cannot be loaded. */
export interface Damage {
  readonly path: string;
  readonly because: string;
}

/** The content as a document; it has to survive JSON. */
export function documentText(content: unknown): string {
  return `${JSON.stringify({ sha256: checksumOf(content), content })}\n`;
}

/** A document's content in its shape; a text says what is wrong with the document. */
export function parseDocument<T extends object>(text: string, shape: z.ZodType<T>): T | string {
  const document = documentShape.safeParse(parsedJson(text));
  if (!document.success) return "was not of the archive's form";
  const { sha256, content } = document.data;
  if (checksumOf(content) !== sha256) return 'did not match its checksum';
  const found = shape.safeParse(content);
  return found.success ? found.data : 'lacked what an entry needs';
}

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
