/** Installs ClickHouse in a library (npm chdb, 550 MB) for `npm run test:lake`. */

import { cachedFolder, installCached } from './cached-packages.ts';

/** Its platform package, which holds ClickHouse 26.7, is fixed by it; `ripen publish --ddl clickhouse` names both. */
const VERSION = '3.4.0';

export const chdbFolder = cachedFolder('ripen-lake');

export function setup(): void {
  installCached(chdbFolder, { chdb: VERSION });
}
