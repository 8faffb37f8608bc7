/** Another process that holds a DuckDB file open, as a forgotten notebook does. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Holder {
  readonly pid: number;
  /** Lets go of the file and ends. */
  release(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const program = `
import { DuckDBInstance } from '@duckdb/node-api';
const instance = await DuckDBInstance.create(process.argv[1], { access_mode: process.argv[2] });
const connection = await instance.connect();
await connection.run('select 1');
globalThis.held = [instance, connection]; // what nothing refers to is collected, and its lock goes with it
process.stdout.write('holding');
process.stdin.resume();
`;

/** Resolves once the file is open in the other process. */
export async function hold(path: string, mode: 'READ_ONLY' | 'READ_WRITE'): Promise<Holder> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, path, mode], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return {
    pid: child.pid ?? 0,
    async release() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
