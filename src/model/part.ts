/**
 * Parts of a window: the same days, narrowed to some values of requested dimensions.
 *
 * Narrowing by a requested dimension only partitions the rows; by any other it would change them. A part and its
 * complement always cover the whole, unknown values included: one is `in` a set, the other `not in` the same set.
 */

import type { Slice } from './slice.ts';

export interface ValueSet {
  /** Only these values; null: any. */
  readonly in: readonly string[] | null;
  /** Not these. */
  readonly notIn: readonly string[];
}

/** By dimension; an empty part is the whole window. */
export type Part = Readonly<Record<string, ValueSet>>;

export const wholeWindow: Part = {};

const anyValue: ValueSet = { in: null, notIn: [] };

/** What a part already says of a dimension. */
export function valuesOf(part: Part, dimension: string): ValueSet {
  return (Object.hasOwn(part, dimension) ? part[dimension] : undefined) ?? anyValue;
}

const listOf = (text: string | undefined): readonly string[] => (text === undefined ? [] : text.split(','));

/** What the slice itself says under a parameter's name, which may be any text. */
const ownText = ({ parameters }: Pick<Slice, 'parameters'>, name: string): string | undefined =>
  Object.hasOwn(parameters, name) ? parameters[name] : undefined;

/** The filters to send for a part, on top of the slice's own, which keep their meaning. */
export function partFilters(slice: Pick<Slice, 'parameters'>, part: Part): Record<string, string> {
  const filters: Record<string, string> = {};
  for (const [dimension, values] of Object.entries(part)) {
    const own = ownText(slice, `${dimension}__in`);
    const wanted = values.in?.filter((value) => own === undefined || listOf(own).includes(value));
    if (wanted !== undefined && wanted.length > 0) filters[`${dimension}__in`] = wanted.join(',');
    const unwanted = [...new Set([...listOf(ownText(slice, `${dimension}__not_in`)), ...values.notIn])];
    if (unwanted.length > 0) filters[`${dimension}__not_in`] = unwanted.join(',');
  }
  return filters;
}
