/** Many small reports of a service that takes its time, beside what its limits allow. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { makeCorpus, type Corpus } from './load/corpus.ts';
import { serveCorpus } from './load/serve-corpus.ts';
import { syncCorpus } from './load/sync-corpus.ts';
import { milliseconds, rounded, times } from './support/figures.ts';
import { publishSection } from './support/publish-section.ts';
import { scaled } from './support/scale.ts';

const REPEATS = scaled(3, 1);
/** Learned first: that the service bears one day a report. */
const HELD = 8;
const CASES = [
  { figure: 'windows_365', windows: scaled(365, 40), delayMs: 300 },
  { figure: 'windows_120', windows: scaled(120, 20), delayMs: 200 },
];
/** What a service of this kind bears, and the defaults ask for: calls at once, starts a second, and a burst of them. */
const [AT_ONCE, STARTS_PER_SECOND, BURST] = [50, 50, 100];

let directory = '';
let corpus: Corpus;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
  corpus = await makeCorpus(join(directory, 'corpus'), 20);
});

afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** When the last of so many reports is answered, if nothing but the limits is waited for. */
function idealMs(reports: number, delayMs: number): number {
  const ends: number[] = [];
  for (let index = 0; index < reports; index += 1) {
    const allowedMs = Math.max(0, ((index + 1 - BURST) * 1000) / STARTS_PER_SECOND);
    ends.push(Math.max(allowedMs, index < AT_ONCE ? 0 : (ends[index - AT_ONCE] ?? 0)) + delayMs);
  }
  return ends.at(-1) ?? 0;
}

test('many small reports take little longer than the limits of the service', async () => {
  const figures: Record<string, number> = {};
  const rows: string[][] = [];
  for (const { figure, windows, delayMs } of CASES) {
    const name = `${windows} one-day windows of ${delayMs} ms`;
    const server = await serveCorpus(corpus, { delayMs, mostDays: 1 });
    const [tookMs, idleMs]: [number[], number[]] = [[], []];
    try {
      for (let round = 0; round < REPEATS; round += 1) {
        const common = { server, corpus, directory, name: `${figure}-${round}` };
        await syncCorpus({ ...common, days: HELD, held: 0 });
        tookMs.push((await syncCorpus({ ...common, days: HELD + windows, held: HELD })).wallMs);
        idleMs.push((await syncCorpus({ ...common, days: HELD + windows, held: HELD + windows })).wallMs);
      }
    } finally {
      await server.close();
    }
    const ideal = idealMs(windows, delayMs);
    const [took, idle] = [Math.min(...tookMs), Math.min(...idleMs)];
    figures[`${figure}_times_ideal`] = rounded(took / ideal, 2);
    figures[`${figure}_beyond_idle_times_ideal`] = rounded((took - idle) / ideal, 2);
    rows.push([name, milliseconds(ideal), milliseconds(took), times(took / ideal), times((took - idle) / ideal)]);
  }
  publishSection({
    name: 'waiting',
    title: 'Waiting for the service',
    paragraphs: [
      `A service that answers each report after a while and bears one day a report. The ideal is what is left to wait for with ${AT_ONCE} calls at once and ${STARTS_PER_SECOND} starts a second after a burst of ${BURST}. The last column is without what a sync takes in which nothing is due. Best of ${REPEATS}.`,
    ],
    tables: [
      {
        caption: 'Whole processes.',
        columns: ['reports', 'ideal', '`ripen sync`', 'times the ideal', 'beyond an idle sync'],
        rows,
      },
    ],
    figures,
  });
  expect(rows).toHaveLength(CASES.length);
});
