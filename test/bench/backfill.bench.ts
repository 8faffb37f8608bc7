/** A long backfill in little memory: `BACKFILL_MIB` is how much JSON, 2 GiB unless told otherwise. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { makeCorpus, type Corpus } from './load/corpus.ts';
import { serveCorpus, type CorpusServer } from './load/serve-corpus.ts';
import { syncCorpus } from './load/sync-corpus.ts';
import { grouped, milliseconds } from './support/figures.ts';
import { publishSection } from './support/publish-section.ts';
import { scaled } from './support/scale.ts';

const MIB = 1_048_576;
const USUAL_MIB = 2048;
const SENT_MIB = Number(env['BACKFILL_MIB'] ?? scaled(USUAL_MIB, 20));
const MOST_MIB = 1024;
/** Bodies of some 14 MB, as a month of a large account has; they are served again and again under other dates. */
const WINDOWS = 4;
const ROWS_PER_DAY = scaled(807, 160);

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

test(`a backfill of ${SENT_MIB} MiB of JSON passes through less than ${MOST_MIB} MiB of memory`, async () => {
  const windows = Math.ceil((SENT_MIB * MIB) / (corpus.plainBytes / WINDOWS));
  const { wallMs, peakBytes } = await syncCorpus({ server, corpus, directory, windows, name: 'backfill' });
  const rows = (corpus.rows / WINDOWS) * windows;
  const sentMib = ((corpus.plainBytes / WINDOWS) * windows) / MIB;
  const peakMib = Math.round(peakBytes / MIB);
  const paragraph = `A first sync of ${grouped(rows)} rows in ${windows} windows, ${grouped(sentMib)} MiB of JSON, nearly all of it sent uncompressed, took ${milliseconds(wallMs)} and at most ${grouped(peakMib)} MiB of memory.`;
  const figures = { rows, sent_mib: Math.round(sentMib), peak_mib: peakMib };
  if (SENT_MIB >= USUAL_MIB) {
    publishSection({ name: 'backfill', title: 'A long backfill', paragraphs: [paragraph], tables: [], figures });
  } else process.stdout.write(`${paragraph}\n`);
  expect(peakMib).toBeLessThan(MOST_MIB);
});
