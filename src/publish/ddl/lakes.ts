/** The configured lakes as an engine is told of them. */

import type { Config } from '../../config/config.ts';
import { Failure } from '../../errors.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { deltaTables, lakeTables } from '../lake-table.ts';
import { ddlRefusal, lakeDdl, schemaName, type Engine } from './ddl.ts';
import { engines } from './engines.ts';
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
  if (!engines.includes(engine)) {
    throw new Failure('USAGE_INVALID', `The engine ${engine} was not known.`, {
      hint: `Name one of ${engines.join(', ')}.`,
    });
  }
  const schemas = new Set<string>();
  const lakes: DescribedLake[] = [];
  const refused: { readonly lake: DescribedLake; readonly refusal: string }[] = [];
  for (const target of publish) {
    if (target.kind === 'duckdb') continue;
    const isDelta = target.kind === 'delta';
    const tables = await (isDelta ? deltaTables : lakeTables)(warehouse);
    const schema = schemaName(target.path, schemas);
    const lake = { root: target.path, store: target.store ?? null, isDelta, schema, tables };
    const refusal = ddlRefusal(engine, lake);
    if (refusal === null) lakes.push(lake);
    else refused.push({ lake, refusal });
    schemas.add(lake.schema);
  }
  if (lakes.length > 0) return lakes.map((lake) => lakeDdl(engine, lake)).join('\n');
  if (refused.length === 0) {
    throw new Failure('USAGE_INVALID', 'There was no lake to describe: none is configured.', {
      hint: 'Add a delta or a parquet target to publish.',
    });
  }
  const others = engines.filter((other) => refused.some(({ lake }) => ddlRefusal(other, lake) === null));
  throw new Failure(
    'USAGE_INVALID',
    `There was no lake to describe: ${refused.map(({ refusal }) => refusal).join('; ')}.`,
    {
      facts: { engine, engines: others.join(', ') },
      hint: `Publish to where ${engine} reads${others.length === 0 ? '.' : `, or name an engine that reads what there is: ${others.join(', ')}.`}`,
    },
  );
}
