/** Shapes of what DuckDB's JSON reader returns, and texts as it can hold them. */

import * as z from 'zod';

import { day } from '../model/calendar.ts';

/** A count below 2^53; BIGINT arrives as text. */
export const count = z.union([z.string(), z.number()]).transform(Number);

/** The instant a TIMESTAMP is, which is in UTC everywhere in the warehouse. */
export const instantOf = (text: string): Date => new Date(`${text.replace(' ', 'T')}Z`);

/** A TIMESTAMP. */
export const instant = z.string().transform((text) => instantOf(text));

export const dayShape = z.string().transform((text) => day(text));

/** An instant as text for a bound TIMESTAMP parameter. */
export function timestamp(at: Date): string {
  return at.toISOString().replace('Z', '');
}

/** Half of a surrogate pair has no UTF-8 form, and DuckDB refuses JSON that holds one; it becomes U+FFFD. */
export function storable(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}
