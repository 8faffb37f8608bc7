/** The one place where names and texts become SQL. */

/** A name as a quoted identifier; safe for any text, also for names that are trouble as bare words. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as a string literal, for the places where nothing can be bound. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
