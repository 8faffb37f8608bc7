/** The configured lakes as an engine is told of them. */

import type { Config } from '../../config/config.ts';
import { Failure } from '../../errors.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { deltaTables, lakeTables } from '../lake-table.ts';
import { ddlRefusal, lakeDdl, schemaName, type Engine } from './ddl.ts';
import type { DescribedLake } from './dialect.ts';

/**
 * The statements with which an engine reads every lake it can, one lake after the other, each in a schema of its own.
 * Throws `USAGE_INVALID` when there is none.
 */
export async function lakesDdl(
  engine: Engine,
  { publish }: Pick<Config, 'publish'>,
  warehouse: Warehouse,
): Promise<string> {
  const schemas = new Set<string>();
  const lakes: DescribedLake[] = [];
  const refusals: string[] = [];
  for (const target of publish) {
    if (target.kind === 'duckdb') continue;
    const isDelta = target.kind === 'delta';
    const tables = await (isDelta ? deltaTables : lakeTables)(warehouse);
    const schema = schemaName(target.path, schemas);
    const lake = { root: target.path, store: target.store ?? null, isDelta, schema, tables };
    const refusal = ddlRefusal(engine, lake);
    if (refusal !== null) refusals.push(refusal);
    else lakes.push(lake);
    schemas.add(lake.schema);
  }
  if (lakes.length > 0) return lakes.map((lake) => lakeDdl(engine, lake)).join('\n');
  const because = refusals.length === 0 ? 'none is configured' : refusals.join('; ');
  throw new Failure('USAGE_INVALID', `There was no lake to describe: ${because}.`, {
    hint: 'Add a delta or a parquet target to publish.',
  });
}
