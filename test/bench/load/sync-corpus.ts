/** `ripen sync` of a served corpus, measured. */

import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { lastDay } from '../../../src/model/calendar.ts';
import { runCli, type Used } from '../support/run-process.ts';
import { daysOf, dimensions, metrics, type Corpus } from './corpus.ts';
import type { CorpusServer } from './serve-corpus.ts';

export interface CorpusSync {
  readonly server: CorpusServer;
  readonly corpus: Corpus;
  /** For the configuration and the warehouse. */
  readonly directory: string;
  readonly days: number;
  readonly name: string;
}

/** Loads the first so many days into a new warehouse by the command as it is built; throws unless every row was loaded. */
export async function syncCorpus({
  server,
  corpus,
  directory,
  days,
  name,
}: CorpusSync): Promise<Used> {
  const period = daysOf(days);
  const config = join(directory, `${name}.yaml`);
  await rm(join(directory, `${name}.duckdb`), { force: true });
  await writeFile(
    config,
    `service:
  base_url: ${server.origin}
  reports_url: ${server.origin}
  token: marked-token-5e1f
warehouse: ${name}.duckdb
partners: false
links: false
control: off
slices:
  - name: network_daily
    dimensions: [${dimensions.join(', ')}]
    metrics: [${Object.keys(metrics).join(', ')}]
    date_period: ${period.start}:${lastDay(period)}
`,
  );
  const used = await runCli('sync', '--config', config, '--quiet', '--json');
  const loaded = days * corpus.rowsPerDay;
  const summary = used.stdout.trim().split('\n').at(-1) ?? '';
  if (!summary.includes(`"rows":{"fetched":${loaded},"loaded":${loaded},"rejected":0}`)) {
    throw new Error(`A sync of ${loaded} rows ended with ${summary}`);
  }
  return used;
}
