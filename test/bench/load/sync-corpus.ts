/** `ripen sync` of a served corpus, from an empty warehouse, measured. */

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { lastDay } from '../../../src/model/calendar.ts';
import { runCli, type Used } from '../support/run-process.ts';
import { daysOfWindows, dimensions, metrics, type Corpus } from './corpus.ts';
import type { CorpusServer } from './serve-corpus.ts';

export interface CorpusSync {
  readonly server: CorpusServer;
  readonly corpus: Corpus;
  /** For the configuration and the warehouse. */
  readonly directory: string;
  /** More than the corpus has are served by turns, uncompressed. */
  readonly windows: number;
  readonly name: string;
}

/** Loads so many windows by the command as it is built; throws unless every row of them was loaded. */
export async function syncCorpus({ server, corpus, directory, windows, name }: CorpusSync): Promise<Used> {
  const days = daysOfWindows(windows);
  const config = join(directory, `${name}.yaml`);
  await writeFile(
    config,
    `service:
  base_url: ${server.origin}
  reports_url: ${server.origin}
  token: marked-token-5e1f
warehouse: ${name}.duckdb
partners: false
links: false
slices:
  - name: network_daily
    dimensions: [${dimensions.join(', ')}]
    metrics: [${Object.keys(metrics).join(', ')}]
    date_period: ${days.start}:${lastDay(days)}
`,
  );
  const used = await runCli('sync', '--config', config, '--quiet', '--json');
  const loaded = (corpus.rows / corpus.windows) * windows;
  const summary = used.stdout.trim().split('\n').at(-1) ?? '';
  if (!summary.includes(`"rows":{"fetched":${loaded},"loaded":${loaded},"rejected":0}`)) {
    throw new Error(`A sync of ${loaded} rows ended with ${summary}`);
  }
  await rm(join(directory, `${name}.duckdb`), { force: true });
  return used;
}
