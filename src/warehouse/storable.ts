/** Text as the warehouse can hold it. */

/** Half of a surrogate pair has no UTF-8 form, and DuckDB refuses JSON that holds one; it becomes U+FFFD. */
export function storable(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}
