/** The tables of the lake: which of the warehouse's go there, with which columns, divided by what. */

import * as z from 'zod';

import { catalogTables } from '../model/catalog.ts';
import { parseColumnType } from '../model/column-type.ts';
import type { Day } from '../model/calendar.ts';
import { dateDimensions, type DateDimension } from '../model/dimension.ts';
import { columnsNow, relationsIn, type Relation } from '../warehouse/relations.ts';
import { identifier, statement } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/** Tables beside the slices, where they exist; one file each, sorted. */
export const dimensionTables: readonly string[] = [
  ...catalogTables,
  'links',
  'links_history',
  'partners',
  'partners_history',
].toSorted();

/** What the ledger says of cells; no slice can have the name. */
export const FINALITY = 'ripen_finality';

/** A load gives every row a new one, even if nothing else changed; the lake holds what a row says, not who brought it. */
const LOAD_ID = '_load_id';

/** Every load gives a period a new one; a slice's metric may have the name. */
const FETCHED_AT = 'fetched_at';

/** Files of a slice: all, or those of periods that begin before a day. */
export interface SliceFiles {
  readonly slice: string;
  readonly before: Day | null;
}

export interface LakeColumn {
  readonly name: string;
  /** The type in the files: one every engine reads. */
  readonly type: string;
  readonly comment: string | null;
}

/** The view of a slice's cohort metrics in long form, as the warehouse has it. */
export interface CohortsView {
  readonly comment: string | null;
  /** The slice's dimensions, `metric`, `age_days`, `value`, `is_final`. */
  readonly columns: readonly LakeColumn[];
  /** The slice's column of each metric and age. */
  readonly cells: readonly { readonly column: string; readonly metric: string; readonly ageDays: number }[];
}

export interface LakeTable {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly LakeColumn[];
  /** The column that divides it into files; null for one file. */
  readonly grain: DateDimension | null;
  /** The name of the files' directories, `<key>=<date>`: hours are kept by day. */
  readonly key: string | null;
  /** Columns whose exact sums the manifest states. */
  readonly summed: readonly string[];
  /** The columns of a slice that its final view shows only where they are final; empty for other tables. */
  readonly metrics: readonly string[];
  /** Whether it is in long form itself, with a row for each metric and age. */
  readonly isCube: boolean;
  /** The slice's view in long form; null for none. */
  readonly cohorts: CohortsView | null;
  /** What stands after `from` in a query of the warehouse. */
  readonly source: string;
  /** Whether its rows carry the id of the load that brought them. */
  readonly isLoaded: boolean;
  /** The slice whose rows it holds, and with which it is dropped; null for other tables. */
  readonly slice: string | null;
}

const sliceRow = z.object({ slice: z.string(), is_cube: z.boolean() });
const cellRow = z.object({ slice: z.string(), metric: z.string(), cohort_metric: z.string(), age_days: z.number() });

/**
 * The tables to publish, slices first, what they say of final cells last. The slices are those that the warehouse holds:
 * one that is no longer configured stays in its copies until it is dropped.
 */
export async function lakeTables(warehouse: Warehouse): Promise<LakeTable[]> {
  const slices = await slicesIn(warehouse);
  return [...(await ownTables(warehouse, slices)), await finalityTable(warehouse)];
}

/** By name, whether it is a cube. */
async function slicesIn(warehouse: Warehouse): Promise<ReadonlyMap<string, boolean>> {
  const held = await warehouse.rows(statement('publish/slices'), [], sliceRow);
  return new Map(held.map(({ slice, is_cube: isCube }) => [slice, isCube]));
}

/** The slices and the dimension tables; slices that have no table yet are left out. */
async function ownTables(warehouse: Warehouse, slices: ReadonlyMap<string, boolean>): Promise<LakeTable[]> {
  const existing = await relationsIn(warehouse, 'main');
  const cells = await warehouse.rows(statement('publish/cohort_cells'), [], cellRow);
  const tables: LakeTable[] = [];
  for (const name of new Set([...slices.keys(), ...dimensionTables])) {
    const found = existing.get(name);
    if (found?.isTable !== true) continue;
    const columns = plainColumns(found, [LOAD_ID]);
    const table = { ...undivided(name, found.comment, columns), source: `main.${identifier(name)}` };
    if (!slices.has(name)) {
      tables.push(table);
      continue;
    }
    const metrics = columns.filter(isMetric).map((column) => column.name);
    const view = existing.get(`${name}_cohorts`);
    const ofSlice = cells.filter(({ slice, metric }) => slice === name && metrics.includes(metric));
    tables.push({
      ...table,
      ...dividedBy(columns),
      summed: columns.filter(({ type }) => /^(BIGINT$|DECIMAL)/.test(type)).map((column) => column.name),
      metrics,
      isCube: slices.get(name) === true,
      cohorts:
        view === undefined || view.isTable || ofSlice.length === 0
          ? null
          : {
              comment: view.comment,
              columns: plainColumns({ columns: await columnsNow(warehouse, 'main', view) }, ['value_text']),
              cells: ofSlice.map((row) => ({ column: row.metric, metric: row.cohort_metric, ageDays: row.age_days })),
            },
      isLoaded: true,
      slice: name,
    });
  }
  return tables;
}

/** What stands beside a slice under its name: its links, how it ripens, what to expect of it. */
const besideSlice = ['_links', '_maturation', '_projected'];

/**
 * Those, without sums, and what else analysts join: what stands beside each slice, and of the ledger what was asked, what moved, how
 * fresh each period is and how well projections did. Finality is last, as `finalityTable` gives it.
 */
export async function deltaTables(warehouse: Warehouse, released: string | null = null): Promise<LakeTable[]> {
  const slices = await slicesIn(warehouse);
  const relations = await relationsIn(warehouse, 'main');
  const beside: LakeTable[] = [];
  for (const slice of slices.keys()) {
    for (const name of besideSlice.map((ending) => `${slice}${ending}`)) {
      const found = relations.get(name);
      if (found === undefined || slices.has(name)) continue;
      const columns = plainColumns({ columns: await columnsNow(warehouse, 'main', found) }, [LOAD_ID]);
      const table = undivided(name, found.comment, columns);
      beside.push({ ...table, ...dividedBy(columns), source: `main.${identifier(name)}`, slice });
    }
  }
  const bookkeeping = await relationsIn(warehouse, 'ripen');
  const ledger = ledgerTables.flatMap((name): LakeTable[] => {
    const found = bookkeeping.get(name);
    if (found === undefined) return [];
    const columns = plainColumns(found, []);
    const names = columns.map((column) => identifier(column.name)).join(', ');
    const source = `(select ${names} from ripen.${identifier(name)})`;
    return [{ ...undivided(`ripen_${name}`, found.comment, columns), source }];
  });
  const own: LakeTable[] = [];
  for (const table of await ownTables(warehouse, slices)) own.push({ ...table, summed: [] });
  return [...own, ...beside, ...ledger, await finalityTable(warehouse, released)];
}

/** What the ledger says that a reader of numbers asks for; each has the slice it speaks of. */
const ledgerTables = ['loads', 'periods', 'restatements', 'projection_errors'];

function undivided(name: string, comment: string | null, columns: readonly LakeColumn[]): Omit<LakeTable, 'source'> {
  const parts = {
    grain: null,
    key: null,
    summed: [],
    metrics: [],
    isCube: false,
    cohorts: null,
    isLoaded: false,
    slice: null,
  };
  return { name, comment, columns, ...parts };
}

function dividedBy(columns: readonly LakeColumn[]): Pick<LakeTable, 'grain' | 'key'> {
  const grain = grainOf(columns);
  return { grain, key: grain === 'hour' ? 'day' : grain };
}

/** The columns of a table or view but some, in types that every engine reads. */
function plainColumns({ columns }: Pick<Relation, 'columns'>, except: readonly string[]): LakeColumn[] {
  return columns
    .filter(({ name }) => !except.includes(name))
    .map(({ name, type, comment }) => ({ name, type: plainType(type), comment }));
}

/**
 * Which cells are final; sorted, so that an engine finds those of one slice together. With a condition on rows of `ripen.released` also
 * those of periods that only the copy holds, and a column that tells them apart.
 */
export async function finalityTable(warehouse: Warehouse, released: string | null = null): Promise<LakeTable> {
  const finality = (await relationsIn(warehouse, 'ripen')).get('finality');
  const columns = finality === undefined ? [] : plainColumns(finality, [FETCHED_AT]);
  const names = columns.map(({ name }) => identifier(name)).join(', ');
  const comment = 'Per slice, period and metric: whether the stored value is final';
  const order = 'order by slice, metric, period';
  if (released === null) {
    return { ...undivided(FINALITY, comment, columns), source: `(select ${names} from ripen.finality ${order})` };
  }
  const kept = `select ${names}, true as released from ripen.released where ${released}`;
  const source = `(select ${names}, false as released from ripen.finality union all ${kept} ${order})`;
  const words = 'Whether the period left the warehouse by `retain` and is held here alone';
  return {
    ...undivided(FINALITY, comment, [...columns, { name: 'released', type: 'BOOLEAN', comment: words }]),
    source,
  };
}

/** Whether a lake has a table of the name that is no slice. */
export function isTableOfLakes(name: string): boolean {
  return name === FINALITY || dimensionTables.includes(name);
}

/**
 * Whether a slice's column is a metric: those alone are numbers. The live table decides, as with the grain: a name says
 * nothing, and the ledger already lists the metrics of a new meaning while it is being built.
 */
export function isMetric({ name, type }: Pick<LakeColumn, 'name' | 'type'>): boolean {
  return name !== LOAD_ID && parseColumnType(type) !== null;
}

/** The live table decides, not the configuration: while a new meaning is being built it still has the old dimensions. */
export function grainOf(columns: readonly LakeColumn[]): DateDimension | null {
  return dateDimensions.find((dimension) => columns.some(({ name }) => name === dimension)) ?? null;
}

/** The nearest type without nesting, 128-bit integers or extensions, in which every value stays exact. */
export function plainType(type: string): string {
  if (/^(BOOLEAN|TINYINT|SMALLINT|INTEGER|BIGINT|FLOAT|DOUBLE|DATE|TIMESTAMP|DECIMAL\(\d+,\d+\))$/.test(type))
    return type;
  if (type === 'HUGEINT') return 'DECIMAL(38,0)';
  return 'VARCHAR';
}
