/** Starts the report server as a child process. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';

import { compileScript } from '../support/compile-script.ts';
import { FIRST_DAY, type Corpus } from './corpus.ts';

export interface CorpusServer {
  readonly origin: string;
  close(): Promise<void>;
}

export async function serveCorpus({ directory }: Corpus): Promise<CorpusServer> {
  const script = await compileScript(new URL('report-server.mts', import.meta.url), directory);
  const child = spawn(execPath, [script, directory, FIRST_DAY], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (text: Buffer) => resolve(Number(text.toString('utf8'))));
    child.once('error', reject);
    child.once('exit', () => reject(new Error('The report server ended before it listened.')));
  });
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      child.kill();
      await exited;
    },
  };
}
