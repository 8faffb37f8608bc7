/**
 * The files of answers, as the engine reads them: each is exactly one document with rows, or says what is broken about it. An
 * error object, `{"rows":null}` and an empty file all read as zero rows in silence.
 */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';
import { Failure, textOf } from '../errors.ts';
import { type BesideRows, besideRows, errorIn, isNothing, warningsIn } from '../spool/beside-rows.ts';
import type { Spooled } from '../spool/spool.ts';
import { count } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { statedMaturity } from './evidence.ts';
import type { Answer } from './load-result.ts';
import { inspectDocuments, noDocuments, readDocuments } from './text-sql.ts';

/** What is wrong with a file: it is not one whole report document. */
export interface BrokenAnswer {
  readonly path: string;
  readonly because: string;
}

const document = z.object({
  filename: z.string(),
  row_count: count.nullable(),
  key_sets: z.string().nullable(),
  ...Object.fromEntries(besideRows.map((name) => [name, z.string().nullable()])),
  totals: z.string().nullable(),
  warnings: z.string().nullable(),
  data_warnings: z.string().nullable(),
  pagination: z.string().nullable(),
  error: z.string().nullable(),
  errors: z.string().nullable(),
  error_code: z.string().nullable(),
  detail: z.string().nullable(),
  immature_cohorts: z.string().nullable(),
  debug: z.string().nullable(),
});

type DocumentRow = BesideRows & {
  readonly row_count: number | null;
  readonly key_sets: string | null;
};

/** DuckDB refuses documents above this unless told; the largest file sets it, with room for its own buffer. */
const OBJECT_SIZE_SLACK = 1.1;
const LEAST_OBJECT_SIZE = 16 * 1024 * 1024;
/** A UINT32 on the engine's side. */
const MOST_OBJECT_SIZE = 4_294_967_295;

export function objectSizeFor(spooled: readonly Spooled[]): number {
  const sizes = spooled.flatMap(({ answers }) =>
    answers.flatMap(({ pages }) => pages.map(({ plainBytes }) => plainBytes)),
  );
  return Math.min(MOST_OBJECT_SIZE, Math.max(LEAST_OBJECT_SIZE, Math.ceil(Math.max(0, ...sizes) * OBJECT_SIZE_SLACK)));
}

/**
 * Reads every file into `documents` and says what it holds, or what is broken about it. A file that cannot be parsed does
 * not disturb the others.
 */
export async function inspect(
  warehouse: Warehouse,
  paths: readonly string[],
  objectSize: number,
): Promise<(Answer | BrokenAnswer)[]> {
  await warehouse.run(noDocuments);
  const broken = await read(warehouse, paths, objectSize);
  const found = await warehouse.rows(inspectDocuments, [], document);
  return paths.map(
    (path) =>
      broken.get(path) ??
      answerOf(
        path,
        found.filter(({ filename }) => filename === path),
      ),
  );
}

/** Fills `documents`, by one statement or, if that fails, file by file; returns the files that cannot be parsed. */
async function read(
  warehouse: Warehouse,
  paths: readonly string[],
  objectSize: number,
): Promise<Map<string, BrokenAnswer>> {
  const [only] = paths;
  if (only === undefined) return new Map();
  try {
    await warehouse.run(readDocuments(paths, objectSize));
    return new Map();
  } catch (error) {
    // A disk or an engine without memory says nothing about the files.
    if (error instanceof Failure) throw error;
    if (paths.length === 1) return new Map([[only, { path: only, because: firstLine(error) }]]);
    const broken = new Map<string, BrokenAnswer>();
    for (const path of paths) for (const each of await read(warehouse, [path], objectSize)) broken.set(...each);
    return broken;
  }
}

function firstLine(error: unknown): string {
  const text = textOf(error);
  // The engine names the file, which means nothing to a reader of the message.
  return (text.split('\n')[0] ?? '').replace(/ in file "[^"]*"/, '').slice(0, 200);
}

/** What the documents of a file come to: one answer, or what is wrong with it. */
export function answerOf(path: string, documents: readonly DocumentRow[]): Answer | BrokenAnswer {
  const [found] = documents;
  if (found === undefined) return { path, because: 'it was empty' };
  if (documents.length > 1) return { path, because: `it held ${documents.length} documents` };
  const said = errorIn(found);
  if (said !== null) return { path, because: `the service said ${said}` };
  if (found.row_count === null) return { path, because: 'it held no rows' };
  const mangled = (['totals', 'warnings', 'data_warnings', 'pagination'] as const).find((name) => !isJson(found[name]));
  if (mangled !== undefined) {
    return { path, because: `its member ${mangled} was no JSON: ${scrub(found[mangled] ?? '').slice(0, MOST_SAID)}` };
  }
  const keySets = z.array(z.array(z.string())).parse(JSON.parse(found.key_sets ?? '[]'));
  const twice = keySets.flatMap((keys) => keys.filter((key, at) => keys.indexOf(key) < at)).at(0);
  if (twice !== undefined) return { path, because: `a row of it stated ${JSON.stringify(twice)} twice` };
  const [first = [], ...others] = keySets;
  return {
    path,
    rowCount: found.row_count,
    keys: new Set(keySets.flat()),
    commonKeys: new Set(first.filter((key) => others.every((keys) => keys.includes(key)))),
    totals: totalsOf(found.totals),
    warnings: warningsIn(found),
    maturity: statedMaturity(found),
    pagination: isNothing(found.pagination) ? null : JSON.parse(found.pagination ?? 'null'),
  };
}

/** Characters of what is no JSON that a message repeats. */
const MOST_SAID = 100;

/** Whether a member can be parsed: the engine reads more than JSON has, such as NaN and Infinity. */
function isJson(member: string | null): boolean {
  try {
    if (member !== null) JSON.parse(member);
    return true;
  } catch {
    return false;
  }
}

/** Numbers keep the text they were written with, as far as the engine does. */
function totalsOf(json: string | null): Map<string, string> {
  if (json === null) return new Map();
  const parsed = z.record(z.string(), z.unknown()).safeParse(JSON.parse(json));
  if (!parsed.success) return new Map();
  const written = [...json.matchAll(/"((?:[^"\\]|\\.)*)":\s*(?:"([^"]*)"|(-?[0-9][0-9.eE+-]*))/g)];
  return new Map(
    written.map(([, key = '', text, number]) => [z.string().parse(JSON.parse(`"${key}"`)), text ?? number ?? '']),
  );
}
