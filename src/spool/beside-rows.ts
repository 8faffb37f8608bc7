/** The members of an answer beside its rows, and what they state about it. */

import * as z from 'zod';

import { scrub } from '../config/secret.ts';

/** Members of a document that describe the answer as a whole, however its rows are read. */
export const besideRows = [
  'totals',
  'warnings',
  'data_warnings',
  'pagination',
  'error',
  'errors',
  'error_code',
  'detail',
  'immature_cohorts',
  'debug',
] as const;

type Member = (typeof besideRows)[number];

/** Each member as JSON text; null if it is missing. */
export type BesideRows = Readonly<Record<Member, string | null>>;

const besideShape = z.record(z.enum(besideRows), z.string().nullable());

/** Picks these members from a document's members, given as JSON texts. */
export const besideRowsIn = (members: ReadonlyMap<string, string>): BesideRows =>
  besideShape.parse(
    Object.fromEntries(besideRows.map((name) => [name, members.get(name) ?? null])),
  );

/** Picks these members from a parsed document. */
export const besideRowsOf = (document: Readonly<Record<string, unknown>>): BesideRows =>
  besideRowsIn(
    new Map(
      besideRows.flatMap((name) =>
        Object.hasOwn(document, name) ? [[name, JSON.stringify(document[name])]] : [],
      ),
    ),
  );

/** Whether a member states nothing. */
export const isNothing = (json: string | null): boolean =>
  json === null || ['null', '{}', '""', '[]', 'false', '0'].includes(json.replaceAll(/\s/g, ''));

/** Characters of an error that a message quotes. */
const MAX_SAID = 200;

/** The error in its own words; null if none. Rows beside an error are not an answer, only what was there when it happened. */
export function errorIn(beside: BesideRows): string | null {
  for (const name of ['error', 'errors', 'error_code', 'detail'] as const) {
    const stated = beside[name];
    if (stated !== null && !isNothing(stated))
      return `${name}: ${scrub(stated).slice(0, MAX_SAID)}`;
  }
  const statuses = innerStatuses(beside);
  return statuses.length === 0 ? null : `debug.service_urls: status_code ${statuses.join(', ')}`;
}

const innerCalls = z.object({
  service_urls: z.array(z.object({ status_code: z.coerce.number() }).nullable().catch(null)),
});
/** The first status that means a back-end did not answer. */
const FIRST_REFUSAL = 400;

/** The statuses of back-ends that did not answer the service. */
function innerStatuses({ debug }: BesideRows): number[] {
  const parsed = innerCalls.safeParse(parsedOf(debug));
  if (!parsed.success) return [];
  return parsed.data.service_urls.flatMap((call) =>
    call !== null && call.status_code >= FIRST_REFUSAL ? [call.status_code] : [],
  );
}

/** A member's value, null if it is missing; undefined if it is not JSON, as engines accept more than JSON. */
export function parsedOf(json: string | null): unknown {
  try {
    return JSON.parse(json ?? 'null');
  } catch {
    return undefined;
  }
}

/** The warnings, each as a text. */
export const warningsIn = ({ warnings, data_warnings: others }: BesideRows): string[] => [
  ...textsOf(warnings),
  ...textsOf(others),
];

function textsOf(json: string | null): string[] {
  if (isNothing(json)) return [];
  const parsed: unknown = JSON.parse(json ?? 'null');
  const items: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  return items.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
}

/**
 * Whether a warning states that the answer's rows were cut, and whether it names exactly the number of rows received: then no
 * total can refute it, as the total may be of the cut rows. Names of metrics may contain these words and are ignored.
 */
export function saysCut(warning: string, rowCount: number): 'no' | 'words' | 'exactly these rows' {
  const words = warning.replaceAll(/\w*_\w*/g, ' ').replaceAll(otherNumbers, ' ');
  const isOfRows = /\b(rows?|results?|records?|reports?|data|response|answer|output)\b/i.test(
    words,
  );
  const isCut =
    /\b(limit(ed)?|truncat\w*|cut|capped|partial(ly)?|incomplete|too many|not all|only the first)\b/i.test(
      words,
    );
  const isCounted = /\b(rows?|results?|records?)\b/i.test(words) && countForm.test(words);
  if (!isOfRows || !(isCut || isCounted)) return 'no';
  const numbers = [...words.matchAll(numberForm)].map(([text]) =>
    Number(text.replaceAll(/\D/g, '')),
  );
  return rowCount > 0 && numbers.includes(rowCount) ? 'exactly these rows' : 'words';
}

/** A maximum, or a part of a larger number: `only 10,000`, `more than 10000`, `10000 of 25000`. */
const countForm = /\b(only|top|max(imum)?|exceed\w*|more than)\b\D*\d|\d (out )?of (the )?\d/i;
/** A number in groups of thousands, or plain; otherwise a comma separates two numbers. */
const numberForm = /\b\d{1,3}(?:[,.' ]\d{3})+\b|\d+/g;
/** Numbers that do not count rows: dates and percentages. */
const otherNumbers = /\d{4}-\d{2}-\d{2}|\d+(?:\.\d+)? ?%/g;
