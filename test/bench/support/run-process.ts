/** Runs `ripen` to its end and says what it used: time, peak memory, processor time. */

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';

import * as z from 'zod';

import { compileScript } from './compile-script.ts';

export interface Used {
  readonly wallMs: number;
  /** Highest resident memory, in bytes. */
  readonly peakBytes: number;
  /** Of all threads. */
  readonly cpuMs: number;
  readonly stdout: string;
}

const measures = z.object({ peakKib: z.number(), cpuMs: z.number() });

/** Once for all runs. */
const exitMeasures = await compileScript(
  new URL('exit-measures.mts', import.meta.url),
  await mkdtemp(join(tmpdir(), 'ripen-bench-')),
);

const cli = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** `ripen` as it is built, measured. Rejects unless it exits 0. */
export async function runCli(...words: readonly string[]): Promise<Used> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-bench-'));
  const file = join(directory, 'measures.json');
  try {
    const preload = pathToFileURL(exitMeasures).href;
    const { wallMs, stdout } = await timeNode(['--import', preload, cli, ...words], {
      BENCH_MEASURES: file,
    });
    const { peakKib, cpuMs } = measures.parse(JSON.parse(await readFile(file, 'utf8')));
    return { wallMs, stdout, peakBytes: peakKib * 1024, cpuMs };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function timeNode(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly wallMs: number; readonly stdout: string }> {
  const startedAt = performance.now();
  const child = spawn(execPath, [...words], {
    env: { ...env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const parts = { stdout: '', stderr: '' };
  child.stdout.on('data', (part: Buffer) => (parts.stdout += part.toString('utf8')));
  child.stderr.on('data', (part: Buffer) => (parts.stderr += part.toString('utf8')));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0)
    throw new Error(`A measured process exited with ${code}: ${parts.stderr || parts.stdout}`);
  return { wallMs: performance.now() - startedAt, stdout: parts.stdout };
}
