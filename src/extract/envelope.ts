/** The members beside a report's rows, and what they state about them. */

import * as z from 'zod';

import { firstWords, parsedJson } from '../service/error-words.ts';

export const ENVELOPE_MEMBERS = [
  'totals',
  'warnings',
  'data_warnings',
  'pagination',
  'currencies',
  'error',
  'errors',
  'error_code',
  'detail',
  'immature_cohorts',
  'debug',
] as const;

/** Unchanged JSON texts. */
export type Members = ReadonlyMap<string, string>;

export interface Envelope {
  /** As the service wrote them. */
  readonly totals: ReadonlyMap<string, string>;
  readonly warnings: readonly string[];
  /** In capital letters. */
  readonly currencies: readonly string[];
  readonly maturity: StatedMaturity;
}

export interface StatedMaturity {
  readonly computedAt: Date | null;
  /** Pairs of a metric and a date, in either order. */
  readonly immature: readonly (readonly [string, string])[];
  /** Names of members in an unknown form. */
  readonly unread: readonly string[];
}

/** Returns a clause if the document is not a report. */
export function parseEnvelope(members: Members): Envelope | string {
  const error = errorIn(members);
  if (error !== null) return `the service said ${error}`;
  for (const name of ['totals', 'warnings', 'data_warnings', 'pagination'] as const) {
    const written = members.get(name);
    if (written !== undefined && parsedJson(written) === undefined)
      return `its member ${name} is not JSON: ${firstWords(written)}`;
  }
  const { data: currencies } = currenciesShape.safeParse(memberOf(members, 'currencies'));
  return {
    totals: totalsIn(members.get('totals')),
    warnings: [...textsIn(members.get('warnings')), ...textsIn(members.get('data_warnings'))],
    currencies: (currencies ?? []).map((code) => code.toUpperCase()),
    maturity: maturityIn(members),
  };
}

export function unusable(
  pages: readonly { readonly members: Members; readonly because: string | null }[],
): string | null {
  for (const { members, because } of pages) {
    const envelope = parseEnvelope(members);
    if (typeof envelope === 'string') return envelope;
    if (because !== null) return because;
  }
  return null;
}

export const paginationIn = (members: Members): unknown => memberOf(members, 'pagination');

const memberOf = (members: Members, name: string) => parsedJson(members.get(name) ?? 'null');

const isNothing = (json: string) =>
  ['null', '{}', '""', '[]', 'false', '0'].includes(json.replaceAll(/\s/g, ''));

const innerCalls = z.object({
  service_urls: z.array(z.object({ status_code: z.coerce.number() }).nullable().catch(null)),
});
/** From here on, a back-end did not answer. */
const FIRST_REFUSAL = 400;

/** Rows beside an error are not an answer. */
function errorIn(members: Members): string | null {
  for (const name of ['error', 'errors', 'error_code', 'detail']) {
    const written = members.get(name);
    if (written !== undefined && !isNothing(written)) return `${name}: ${firstWords(written)}`;
  }
  const calls = innerCalls.safeParse(memberOf(members, 'debug')).data?.service_urls ?? [];
  const statuses = calls.flatMap((call) =>
    call !== null && call.status_code >= FIRST_REFUSAL ? [call.status_code] : [],
  );
  return statuses.length === 0 ? null : `debug.service_urls: status_code ${statuses.join(', ')}`;
}

const objectShape = z.record(z.string(), z.unknown());

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s{}[\]",:]+/g;

function totalsIn(json = 'null'): Map<string, string> {
  const totals = new Map<string, string>();
  if (!objectShape.safeParse(parsedJson(json)).success) return totals;
  let depth = 0;
  let name: string | null = null;
  for (const [token] of json.matchAll(TOKEN)) {
    if ('{['.includes(token)) depth += 1;
    else if ('}]'.includes(token)) {
      depth -= 1;
      name = null;
    } else if (depth === 1 && name === null) name = String(JSON.parse(token));
    else if (depth === 1 && name !== null) {
      if (/^["\d-]/.test(token)) totals.set(name, token.replaceAll('"', ''));
      name = null;
    }
  }
  return totals;
}

function textsIn(json: string | undefined): string[] {
  if (json === undefined || isNothing(json)) return [];
  const parsed = parsedJson(json);
  const items: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  return items.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)));
}

/** A code, or an object with one under a name that the service uses elsewhere. */
const currenciesShape = z.array(
  z.union([
    z.string(),
    z.object({ currency_code: z.string() }).transform((item) => item.currency_code),
    z.object({ code: z.string() }).transform((item) => item.code),
    z.object({ id: z.string() }).transform((item) => item.id),
  ]),
);

const cohortsShape = z.record(z.string(), z.array(z.string())).nullable();
const debugShape = z.object({ cached_at: z.unknown() });
/** UTC if it has no offset. */
const instantForm =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|[+-]\d{2}:?\d{2})?$/;

function maturityIn(members: Members): StatedMaturity {
  const cohorts = cohortsShape.safeParse(memberOf(members, 'immature_cohorts'));
  const cachedAt = debugShape.safeParse(memberOf(members, 'debug')).data?.cached_at ?? null;
  const [, date = '', time = '', offset = 'Z'] =
    instantForm.exec(typeof cachedAt === 'string' ? cachedAt : '') ?? [];
  const at = new Date(`${date}T${time}${offset}`);
  const computedAt = Number.isNaN(at.getTime()) ? null : at;
  const unread = cohorts.success ? [] : ['immature_cohorts'];
  if (cachedAt !== null && computedAt === null) unread.push('debug.cached_at');
  const immature = Object.entries(cohorts.data ?? {}).flatMap(([key, items]) =>
    items.map((item) => [key, item] as const),
  );
  return { computedAt, immature, unread };
}

/**
 * Tells whether a warning says that rows were cut. If it names their number, totals cannot refute it: they may be of these
 * rows.
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

/** `only 10,000`, `more than 10000`, `10000 of 25000`. */
const countForm = /\b(only|top|max(imum)?|exceed\w*|more than)\b\D*\d|\d (out )?of (the )?\d/i;
const numberForm = /\b\d{1,3}(?:[,.' ]\d{3})+\b|\d+/g;
const otherNumbers = /\d{4}-\d{2}-\d{2}|\d+(?:\.\d+)? ?%/g;
