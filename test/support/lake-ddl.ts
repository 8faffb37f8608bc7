/** The statements for the copies of one configuration, as `ripen publish --ddl` prints them. */

import type { Config } from '../../src/config/config.ts';
import { describedLakes, lakeDdl } from '../../src/publish/words/ddl.ts';
import type { Engine } from '../../src/publish/words/engines.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';

export async function lakesDdl(
  engine: Engine,
  publishing: Pick<Config, 'publish'>,
  warehouse: Warehouse,
): Promise<string> {
  const { signal } = new AbortController();
  const lakes = await describedLakes(engine, publishing, warehouse, signal);
  return lakes.map((lake) => lakeDdl(engine, lake)).join('\n');
}
