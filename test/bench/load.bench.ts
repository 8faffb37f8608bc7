/** Rows from the wire into the warehouse, beside what DuckDB does from disk and what a plain program does. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { elapsedText } from '../../src/model/measure.ts';
import { dimensions, makeCorpus, metrics, writeFiles, type Corpus } from './load/corpus.ts';
import { parseAndAppend, readJsonOnly, type Spent } from './load/limits.ts';
import { serveCorpus, type CorpusServer } from './load/serve-corpus.ts';
import { syncCorpus } from './load/sync-corpus.ts';
import { grouped, rounded, times } from './support/figures.ts';
import { publishSection } from './support/section.ts';
import type { Used } from './support/run-process.ts';
import { scaled } from './support/scale.ts';

const ROWS_PER_DAY = scaled(807, 160);
/** Days of each size; the smallest and the largest show memory, and go without the others beside them. */
const SIZES = [
  {
    name: '0.1 million',
    figure: '100k',
    days: scaled(124, 31),
    beside: false,
    repeats: scaled(3, 1),
  },
  {
    name: '0.3 million',
    figure: '300k',
    days: scaled(372, 62),
    beside: true,
    repeats: scaled(3, 1),
  },
  { name: '1 million', figure: '1m', days: scaled(1240, 124), beside: true, repeats: scaled(3, 1) },
  { name: '5 million', figure: '5m', days: scaled(6200, 0), beside: false, repeats: 1 },
].filter(({ days }) => days > 0);
/** Files of the slowest way; its rate does not depend on how many there are. */
const APPENDED_FILES = scaled(8, 2);
const DAYS_PER_FILE = 31;
const MIB = 1_048_576;
const MAX_BYTES = 1_073_741_824;

let directory = '';
let corpus: Corpus;
let server: CorpusServer;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
  corpus = await makeCorpus(join(directory, 'corpus'), ROWS_PER_DAY);
  server = await serveCorpus(corpus);
});

afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

interface Way {
  readonly name: string;
  readonly rows: number;
  readonly spent: Spent[];
}

const least = ({ spent }: Way, pick: (one: Spent) => number): number =>
  Math.min(...spent.map(pick));
const wall = ({ wallMs }: Spent): number => wallMs;
const cpu = ({ cpuMs }: Spent): number => cpuMs;
/** Rows a second of one way as a share of another's. */
const rate = (way: Way, of: Way, pick: (one: Spent) => number): number =>
  least(of, pick) / of.rows / (least(way, pick) / way.rows);

test('rows load beside what DuckDB and a plain program make of them', async () => {
  const tables: { caption: string; columns: string[]; rows: string[][] }[] = [];
  const figures: Record<string, number> = {};
  const peaks: { readonly rows: number; readonly bytes: number; readonly ms: number }[] = [];
  for (const { name, figure, days, beside, repeats } of SIZES) {
    const rows = days * ROWS_PER_DAY;
    const lines: Way = { name: 'DuckDB from lines on disk', rows, spent: [] };
    const bodies: Way = { name: 'DuckDB from bodies on disk', rows, spent: [] };
    const synced: Way = { name: '`ripen sync`, over HTTP', rows, spent: [] };
    const appendedDays = Math.min(days, APPENDED_FILES * DAYS_PER_FILE);
    const appended: Way = {
      name: '`JSON.parse` and appender',
      rows: appendedDays * ROWS_PER_DAY,
      spent: [],
    };
    const lineFiles = beside ? await writeFiles(corpus, days, 'lines') : [];
    const bodyFiles = beside ? await writeFiles(corpus, days, 'bodies') : [];
    const runs: Used[] = [];
    for (let round = 0; round < repeats; round += 1) {
      if (beside) {
        lines.spent.push(await readJsonOnly(lineFiles, 'lines'));
        bodies.spent.push(await readJsonOnly(bodyFiles, 'bodies'));
        appended.spent.push(await parseAndAppend(bodyFiles.slice(0, APPENDED_FILES)));
      }
      runs.push(await syncCorpus({ server, corpus, directory, days, name: `loaded-${figure}` }));
    }
    synced.spent.push(...runs);
    for (const file of [...lineFiles, ...bodyFiles]) await rm(file);
    const peakBytes = Math.max(...runs.map((run) => run.peakBytes));
    peaks.push({ rows, bytes: peakBytes, ms: least(synced, wall) });
    figures[`peak_mib_${figure}`] = Math.round(peakBytes / MIB);
    figures[`rows_per_second_${figure}`] = Math.round((rows / least(synced, wall)) * 1000);
    if (!beside) continue;
    figures[`of_lines_${figure}`] = rounded(rate(synced, lines, wall), 2);
    figures[`of_bodies_${figure}`] = rounded(rate(synced, bodies, wall), 2);
    figures[`times_appender_${figure}`] = rounded(rate(synced, appended, wall), 1);
    figures[`of_lines_cpu_${figure}`] = rounded(rate(synced, lines, cpu), 2);
    figures[`of_bodies_cpu_${figure}`] = rounded(rate(synced, bodies, cpu), 2);
    figures[`times_appender_cpu_${figure}`] = rounded(rate(synced, appended, cpu), 1);
    tables.push({
      caption: `${name} rows (${grouped(rows)}).`,
      columns: ['way', 'best', 'processor', 'rows/s', 'of lines', 'of lines, by processor'],
      rows: [lines, bodies, synced, appended].map((way) => [
        way.name,
        elapsedText(least(way, wall)),
        elapsedText(least(way, cpu)),
        grouped((way.rows / least(way, wall)) * 1000),
        times(rate(way, lines, wall)),
        times(rate(way, lines, cpu)),
      ]),
    });
  }
  tables.push({
    caption: 'The most memory that `ripen sync` needed, by the size of what it loads.',
    columns: ['rows', 'memory', 'best', 'rows/s'],
    rows: peaks.map(({ rows, bytes, ms }) => [
      grouped(rows),
      `${grouped(bytes / MIB)} MiB`,
      elapsedText(ms),
      grouped((rows / ms) * 1000),
    ]),
  });
  publishSection({
    name: 'load',
    title: 'Loading beside DuckDB itself',
    paragraphs: [
      `A slice of ${dimensions.length} dimensions and ${Object.keys(metrics).length} metrics, some 500 bytes of JSON a row, sent plain by another process on the same cores. \`ripen sync\` is a whole process: start, catalog, requests, every check, the proof by totals, ledger, checkpoint. DuckDB reads files that lie on disk already, into the same types with 1 GB of memory, and does nothing else; \`JSON.parse\` and the appender read the first ${APPENDED_FILES} of them. Best of ${SIZES[0]?.repeats ?? 1} by turns; shares compare rows a second, the last column rows per second of processor time of all threads, which other work on the machine moves less.`,
    ],
    tables,
    figures,
  });

  expect(Math.max(...peaks.map(({ bytes }) => bytes))).toBeLessThan(MAX_BYTES);
});
