/**
 * What to do with an answer, by its status: a table, and nothing but the table.
 *
 * Sources: service-interface "Errors"; 422 and 410 are the usual siblings of 400 and 404; 408 asks for a repetition by
 * its definition (RFC 9110); 524 is what a content network says when the server behind it took too long. What is not
 * listed goes by its class: a server's failure may pass, a success that carries no answer too, and the rest halts as
 * `unexpected`.
 */

export const verdicts = [
  /** Read it. */
  'answer',
  /** A valid answer without content. */
  'empty',
  /** A success, but not of the request: the answer is not there yet, or is a part or a paraphrase of one. */
  'no answer',
  /** The service does not work at the moment. */
  'unavailable',
  /** The service failed on this request, or what stands before it did. */
  'faulty',
  /** Too many at once. */
  'later',
  /** A smaller question may succeed. */
  'too heavy',
  'refused',
  'credentials',
  'forbidden',
  'missing',
  'redirected',
  'unexpected',
] as const;

export type Verdict = (typeof verdicts)[number];

const byStatus: ReadonlyMap<number, Verdict> = new Map<number, Verdict>([
  [200, 'answer'],
  [201, 'answer'],
  [204, 'empty'],
  [301, 'redirected'],
  [302, 'redirected'],
  [303, 'redirected'],
  [307, 'redirected'],
  [308, 'redirected'],
  [400, 'refused'],
  [401, 'credentials'],
  [403, 'forbidden'],
  [404, 'missing'],
  [408, 'faulty'],
  [410, 'missing'],
  [422, 'refused'],
  [429, 'later'],
  [500, 'faulty'],
  [502, 'faulty'],
  [503, 'unavailable'],
  [504, 'too heavy'],
  [524, 'too heavy'],
]);

/** By the first digit. What a server behind a content network may have received (520 …) must not pass for a refusal. */
const byClass: ReadonlyMap<number, Verdict> = new Map<number, Verdict>([
  [2, 'no answer'],
  [5, 'faulty'],
]);

/** The verdict on a status. */
export function verdictOn(status: number): Verdict {
  return byStatus.get(status) ?? byClass.get(Math.floor(status / 100)) ?? 'unexpected';
}
