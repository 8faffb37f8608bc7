/** Shapes of what DuckDB's JSON reader returns, and what becomes of it. */

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
