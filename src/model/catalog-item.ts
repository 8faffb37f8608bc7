/** A catalog item in the warehouse and the archive. Apart from `catalog.ts`, which needs no schema. */

import * as z from 'zod';

/** Half a surrogate pair becomes U+FFFD, as DuckDB refuses JSON that contains one. */
const text = z.string().transform((value) => value.toWellFormed());

/** Every field but `id` may be empty. */
export const catalogItem = z.object({
  filter: z.string(),
  id: text,
  name: text,
  shortName: text,
  section: text,
  /** `integer`, `money`, `money_precise`, `decimal`, `percent`, `timeperiod`, `select`, `string`, or another. */
  formatting: text,
  description: text,
  attributes: text.nullish(),
});

export type CatalogItem = Readonly<z.infer<typeof catalogItem>>;
