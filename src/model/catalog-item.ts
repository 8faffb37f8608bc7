/** The shape of a catalog's item, as the warehouse and the archive hold it; apart from the names, which need no schema. */

import * as z from 'zod';

/** Half of a surrogate pair has no UTF-8 form, and DuckDB refuses JSON that holds one; it becomes U+FFFD. */
const text = z.string().transform((value) => value.toWellFormed());

/** One filter item; every field but `id` may be empty. */
export const catalogItem = z.object({
  /** The filter name it was listed under. */
  filter: z.string(),
  id: text,
  name: text,
  shortName: text,
  section: text,
  /** `integer`, `money`, `money_precise`, `decimal`, `percent`, `timeperiod`, `select`, `string`; not a closed list. */
  formatting: text,
  description: text,
  /** Any other fields, as a JSON object; null or left out if there are none. */
  attributes: text.nullish(),
});

export type CatalogItem = Readonly<z.infer<typeof catalogItem>>;
