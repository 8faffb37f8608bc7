/** Names of schemas that are made from paths, in letters that every engine takes unquoted. */

/** Schemas that DuckDB has already, or takes for a database of its own. */
const takenByDuckdb = new Set(['information_schema', 'memory', 'pg_catalog', 'system', 'temp']);

/** A name for the schema of a lake, from the last step of its path: small letters, digits and `_`, unlike those taken. */
export function schemaName(root: string, taken: ReadonlySet<string>): string {
  const last = root.split('/').findLast((step) => step !== '') ?? '';
  const word = last
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '_')
    .replace(/_+$/, '');
  const plain = /^(\d|$)/.test(word) || takenByDuckdb.has(word) ? `lake_${word}`.replace(/_$/, '') : word;
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? plain : `${plain}_${count}`;
    if (!taken.has(name)) return name;
  }
}
