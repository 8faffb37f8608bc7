/** A million rows from the wire into the warehouse, beside its limits. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { dimensions, makeCorpus, metrics, type Corpus } from './load/corpus.ts';
import { downloadOnly, parseAndAppend, readJsonOnly, type Spent } from './load/limits.ts';
import { serveCorpus, type CorpusServer } from './load/serve-corpus.ts';
import { syncCorpus } from './load/sync-corpus.ts';
import { grouped, median, milliseconds, rounded, times } from './support/figures.ts';
import { publishSection } from './support/publish-section.ts';
import type { Used } from './support/run-process.ts';
import { scaled } from './support/scale.ts';

const WINDOWS = scaled(40, 4);
const ROWS_PER_DAY = scaled(807, 160);
const REPEATS = scaled(3, 1);
/** Files of the slowest way; its rate does not depend on how many there are. */
const APPENDED_FILES = scaled(8, 2);
const MIB = 1_048_576;
const MOST_BYTES = 1_073_741_824;

let directory = '';
let corpus: Corpus;
let server: CorpusServer;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
  corpus = await makeCorpus({ directory: join(directory, 'corpus'), windows: WINDOWS, rowsPerDay: ROWS_PER_DAY });
  server = await serveCorpus(corpus);
});

afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

test('a million rows load beside their limits', async () => {
  const runs: Used[] = [];
  const limits: Record<'download' | 'readJson' | 'append', Spent[]> = { download: [], readJson: [], append: [] };
  for (let round = 0; round < REPEATS; round += 1) {
    limits.download.push(await downloadOnly(server.origin, corpus));
    limits.readJson.push(await readJsonOnly(corpus));
    runs.push(await syncCorpus({ server, corpus, directory, windows: WINDOWS, name: `round-${round}` }));
    limits.append.push(await parseAndAppend(corpus, APPENDED_FILES));
  }

  const appendedRows = (corpus.rows / WINDOWS) * APPENDED_FILES;
  const least = (spent: readonly Spent[], pick: (one: Spent) => number): number => Math.min(...spent.map(pick));
  const wall = ({ wallMs }: Spent): number => wallMs;
  const cpu = ({ cpuMs }: Spent): number => cpuMs;
  const perRow = (spent: readonly Spent[], rows: number, pick: (one: Spent) => number): number =>
    least(spent, pick) / rows;
  const line = (name: string, spent: readonly Spent[], rows: number): string[] => [
    name,
    milliseconds(least(spent, wall)),
    milliseconds(median(spent.map(wall))),
    milliseconds(least(spent, cpu)),
    grouped((rows / least(spent, wall)) * 1000),
    times(perRow(spent, rows, wall) / perRow(limits.readJson, corpus.rows, wall)),
    times(perRow(spent, rows, cpu) / perRow(limits.readJson, corpus.rows, cpu)),
  ];
  const peakBytes = Math.max(...runs.map((run) => run.peakBytes));
  publishSection({
    name: 'load',
    title: 'Loading a million rows',
    paragraphs: [
      `A slice of ${dimensions.length} dimensions and ${Object.keys(metrics).length} metrics, ${grouped(corpus.rows)} rows in ${WINDOWS} windows: ${grouped(corpus.plainBytes / MIB)} MiB of JSON, ${grouped(corpus.gzipBytes / MIB)} MiB on the wire. The server is another process on the same cores. \`ripen sync\` is timed as a whole, from the start of its process to its end: catalog, requests, spool, every check, the proof by totals, restatements and ledger of each window. The limits do none of that.`,
      `\`ripen sync\` needed ${grouped(peakBytes / MIB)} MiB at most; its main thread was busy for ${milliseconds(median(runs.map(({ mainBusyMs }) => mainBusyMs)))}.`,
    ],
    tables: [
      {
        caption: `Best and median of ${REPEATS} by turns, processor time of all threads; the last two columns compare the best, per row, with \`read_json\`.`,
        columns: ['way', 'best', 'median', 'processor', 'rows/s', 'times the limit', 'by processor'],
        rows: [
          line('limit: download, thrown away', limits.download, corpus.rows),
          line('limit: `read_json` from disk, cast, insert', limits.readJson, corpus.rows),
          line('`ripen sync`', runs, corpus.rows),
          line(`\`JSON.parse\` and appender (${grouped(appendedRows)} rows)`, limits.append, appendedRows),
        ],
      },
    ],
    figures: {
      rows: corpus.rows,
      rows_per_second: Math.round((corpus.rows / least(runs, wall)) * 1000),
      times_the_limit: rounded(perRow(runs, corpus.rows, wall) / perRow(limits.readJson, corpus.rows, wall), 2),
      times_the_limit_cpu: rounded(perRow(runs, corpus.rows, cpu) / perRow(limits.readJson, corpus.rows, cpu), 2),
      of_the_appender_time: rounded(perRow(runs, corpus.rows, wall) / perRow(limits.append, appendedRows, wall), 2),
      peak_mib: Math.round(peakBytes / MIB),
    },
  });

  expect(peakBytes).toBeLessThan(MOST_BYTES);
});
