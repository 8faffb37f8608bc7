/** What a warehouse holds of a slice, read with the engine alone, every value as text. */

import { join } from 'node:path';

import { DuckDBInstance } from '@duckdb/node-api';

export interface StoredPeriod {
  /** Days `YYYY-MM-DD`, ends exclusive. */
  readonly start: string;
  readonly end: string;
  readonly askedStart: string;
  readonly askedEnd: string;
  readonly fetchedMs: number;
  readonly state: string;
  /** Metrics that the ledger calls final. */
  readonly final: ReadonlySet<string>;
}

export interface StoredWarning {
  readonly runId: string;
  readonly code: string;
  readonly start: string | null;
  readonly end: string | null;
}

export type StoredRow = ReadonlyMap<string, string | null>;

export interface Stored {
  /** The fingerprint of the live table; null where there is none. */
  readonly meaning: string | null;
  /** Type by column, in order; empty where there is no table. */
  readonly columns: ReadonlyMap<string, string>;
  readonly rows: readonly StoredRow[];
  /** The rows of the final view. */
  readonly finalRows: readonly StoredRow[];
  /** Of the live table, in order. */
  readonly periods: readonly StoredPeriod[];
  /** What each run warned of, by `[first day, end)`; without days it concerns the whole slice. */
  readonly warnings: readonly StoredWarning[];
}

/** What a copy for readers holds of a slice. */
export type Published = Pick<Stored, 'columns' | 'rows' | 'finalRows'>;

type Rows = readonly (readonly (string | null)[])[];

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

type Ask = (sql: string) => Promise<Rows>;

async function reading<T>(path: string, read: (ask: Ask) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(path, {
    threads: '1',
    ...(path === ':memory:' ? {} : { access_mode: 'READ_ONLY' }),
  });
  const connection = await instance.connect();
  try {
    return await read(async (sql) => {
      const answer = await connection.runAndReadAll(sql);
      return answer.getRowsJson().map((row) => row.map((cell) => (typeof cell === 'string' ? cell : null)));
    });
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** What a snapshot, or the catalog of a lake, shows of a slice. */
export async function readPublished(path: string, slice: string): Promise<Published> {
  return reading(path, async (ask) => rowsOfSlice(ask, slice));
}

/** Every table that analysts query, with what the ledger says of cells, and with the views where they are wanted, by name. */
export async function readShown(
  path: string,
  { withViews }: { withViews: boolean },
): Promise<ReadonlyMap<string, Published>> {
  return reading(path, async (ask) => {
    const names = await ask(
      `select table_name, 'main.' || format('"{}"', replace(table_name, '"', '""')), 'true'
       from duckdb_tables() where schema_name = 'main' and not temporary
       union all select view_name, 'main.' || format('"{}"', replace(view_name, '"', '""')), 'false'
       from duckdb_views() where schema_name = 'main' and not internal and not temporary
       union all select 'ripen_finality', 'ripen.finality', 'true'
       from duckdb_views() where schema_name = 'ripen' and view_name = 'finality'`,
    );
    const shown = new Map<string, Published>();
    for (const [name, relation, isTable] of names) {
      if (isTable === 'true' || withViews) shown.set(name ?? '', await rowsOf(ask, relation ?? ''));
    }
    return shown;
  });
}

/** What the plain files of a lake show of a slice: they have no view of what is final. */
export async function readFiles(lake: string, slice: string): Promise<Published> {
  const files = join(lake, slice, '**', '*.parquet').replaceAll("'", "''");
  return reading(':memory:', async (ask) => {
    const found = await ask(`select 1 from glob('${files}')`);
    if (found.length === 0) return { columns: new Map(), rows: [], finalRows: [] };
    const read = `read_parquet('${files}', hive_partitioning = true, union_by_name = true)`;
    return rowsOf(ask, read);
  });
}

/** Every row of each relation, with the columns of the first. */
async function rowsOf(ask: Ask, relation: string, final: string | null = null): Promise<Published> {
  const found = await ask(`select column_name, column_type from (describe select * from ${relation})`);
  const columns = new Map(found.map(([column, type]) => [column ?? '', type ?? '']));
  const names = [...columns.keys()];
  const cells = names.map((column) => `cast(${quoted(column)} as varchar)`).join(', ');
  const read = async (from: string): Promise<StoredRow[]> => {
    const rows = await ask(`select ${cells} from ${from} order by all`);
    return rows.map((row) => new Map(names.map((column, at) => [column, row[at] ?? null])));
  };
  return { columns, rows: await read(relation), finalRows: final === null ? [] : await read(final) };
}

async function rowsOfSlice(ask: Ask, slice: string): Promise<Published> {
  const name = `'${slice}'`;
  // The list of all columns looks at every view; this is a third of the work of a night's reading.
  const held = await ask(
    `select 1 from duckdb_tables() where schema_name = 'main' and table_name = ${name}
     union all select 1 from duckdb_views() where schema_name = 'main' and view_name = ${name}`,
  );
  if (held.length === 0) return { columns: new Map(), rows: [], finalRows: [] };
  return rowsOf(ask, `main.${quoted(slice)}`, `main.${quoted(`${slice}_final`)}`);
}

export async function readStored(path: string, slice: string): Promise<Stored> {
  return reading(path, async (ask) => {
    const name = `'${slice}'`;
    const ofLive = `slice = ${name} and fingerprint in
        (select fingerprint from ripen.slice_tables where slice = ${name} and state = 'live')`;
    const final = new Map<string, Set<string>>();
    const cells = await ask(
      `select cast(period as varchar), metric from ripen.finality where slice = ${name} and is_final`,
    );
    for (const [period, metric] of cells) {
      final.set(period ?? '', (final.get(period ?? '') ?? new Set()).add(metric ?? ''));
    }
    const periods = await ask(
      `select cast(start_day as varchar), cast(end_day as varchar), cast(asked_start as varchar),
           cast(asked_end as varchar), cast(epoch_ms(fetched_at) as varchar), state
       from ripen.periods where ${ofLive} order by start_day`,
    );
    const [live] = await ask(`select fingerprint from ripen.slice_tables where slice = ${name} and state = 'live'`);
    const warnings = await ask(
      `select run_id, code, cast(start_day as varchar), cast(end_day as varchar)
       from ripen.warnings where slice is null or slice = ${name}`,
    );
    return {
      meaning: live?.[0] ?? null,
      ...(await rowsOfSlice(ask, slice)),
      periods: periods.map(([start, end, askedStart, askedEnd, fetched, state]) => ({
        start: start ?? '',
        end: end ?? '',
        askedStart: askedStart ?? '',
        askedEnd: askedEnd ?? '',
        fetchedMs: Number(fetched),
        state: state ?? '',
        final: final.get(start ?? '') ?? new Set(),
      })),
      warnings: warnings.map(([runId, code, start, end]) => ({
        runId: runId ?? '',
        code: code ?? '',
        start: start ?? null,
        end: end ?? null,
      })),
    };
  });
}

/** A number without trailing zeros; in a DOUBLE column the nearest double. Null, empty and absent are null. */
export function comparableNumber(text: unknown, type: string): string | null {
  const written = typeof text === 'number' ? String(text) : text;
  if (typeof written !== 'string' || written === '') return null;
  if (type === 'DOUBLE') return String(Number(written));
  const [whole = '0', digits = ''] = withoutExponent(written).split('.');
  const kept = digits.replace(/0+$/, '');
  return kept === '' ? whole : `${whole}.${kept}`;
}

/** `1.5e-3` as `0.0015`; a text without an exponent as it is. */
function withoutExponent(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent] = /^(-?)(\d+)\.?(\d*)e([-+]?\d+)$/i.exec(text) ?? [];
  if (exponent === undefined) return text;
  const point = whole.length + Number(exponent);
  const digits = (whole + fraction)
    .padStart(whole.length + fraction.length + Math.max(0, 1 - point), '0')
    .padEnd(point, '0');
  const at = Math.max(1, point);
  return `${sign}${digits.slice(0, at).replace(/^0+(?=\d)/, '')}.${digits.slice(at)}`;
}

/** What of the same columns is held otherwise after than before, but for which load brought it. */
export function differencesOf(before: Published & Partial<Stored>, after: Published & Partial<Stored>): string[] {
  const columns = [...before.columns].filter(([name]) => name !== '_load_id' && after.columns.has(name));
  const plain = (rows: Stored['rows']): string[] =>
    rows.map((row) =>
      JSON.stringify(
        columns.map(([name, type]) => {
          const value = row.get(name);
          const isText = type === 'VARCHAR' || type === 'JSON' || /^(DATE|TIMESTAMP)/.test(type);
          const isDouble = type === 'DOUBLE' || after.columns.get(name) === 'DOUBLE';
          return isText ? value : comparableNumber(value, isDouble ? 'DOUBLE' : type);
        }),
      ),
    );
  const missing = (one: readonly string[], other: readonly string[]): string[] => {
    const those = new Set(other);
    return one.filter((text) => !those.has(text));
  };
  // That a second run met no rows either is not in the newest answer: to ask once more is no harm.
  const unconfirmed = new Set((after.periods ?? []).filter(({ state }) => state === 'empty').map(({ start }) => start));
  const periods = (stored: Partial<Stored>): string[] =>
    (stored.periods ?? [])
      .filter(({ start }) => !unconfirmed.has(start))
      .map(({ final, ...period }) => JSON.stringify([period, [...final].sort()]));
  const lists: [string, string[], string[]][] = [
    ['rows', plain(before.rows), plain(after.rows)],
    ['final rows', plain(before.finalRows), plain(after.finalRows)],
    ['periods', periods(before), periods(after)],
  ];
  return lists.flatMap(([name, one, other]) => {
    const [lost, made] = [missing(one, other), missing(other, one)];
    const texts = [
      `lost ${lost.length} of ${one.length} ${name}: ${lost[0]}`,
      `made ${made.length} ${name}: ${made[0]}`,
    ];
    return texts.filter((_, at) => [lost, made][at]?.length !== 0);
  });
}

/** The first day or the hour that a label of a date dimension stands for, as a column holds it. */
export function comparableDate(dimension: string, label: string): string {
  if (dimension === 'hour') return label.replace('T', ' ');
  if (dimension === 'month') return `${label}-01`;
  if (dimension === 'year') return `${label}-01-01`;
  if (dimension !== 'quarter') return label.slice(0, 10);
  return `${label.slice(3)}-${String(Number(label[1]) * 3 - 2).padStart(2, '0')}-01`;
}
