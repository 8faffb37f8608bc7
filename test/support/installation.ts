/**
 * An installation as its owner has one: a folder with `ripen.yaml`, the built command line as processes of their own,
 * and a service, simulated in the test's process.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { closedOnce } from './closing.ts';

/** What the token in the environment is; marked, so that it can be looked for. */
export const TOKEN = 'mark3d+t0ken/of=e2e==';

/** The built command line; `npm test` builds it first. */
export const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

export interface Ended {
  /** Null for a process that a signal ended. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly pid: number;
  /** Milliseconds from the start to each line of stderr so far. */
  readonly linesAtMs: readonly number[];
  /** Resolves once stderr holds so many lines, or the process has ended. */
  untilLine(count: number): Promise<void>;
  /** Resolves once stderr holds the words; rejects with all it said when it ended without. */
  until(words: string): Promise<void>;
  /** What stderr holds so far. */
  said(): string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

export interface Installation {
  readonly directory: string;
  path(...names: string[]): string;
  /** Writes `ripen.yaml`; JSON is YAML. */
  configure(settings: object): Promise<void>;
  /** Starts a command; the environment holds `PATH`, `RIPEN_TOKEN` and what is given. */
  start(argv: readonly string[], environment?: Readonly<Record<string, string>>): Running;
  run(argv: readonly string[], environment?: Readonly<Record<string, string>>): Promise<Ended>;
  /** Every file below the folder but `ripen.yaml`, as sorted relative paths. */
  files(): Promise<string[]>;
  close(): Promise<void>;
}

/** Makes an empty folder; with `root`, below that directory. */
export async function openInstallation(root = tmpdir()): Promise<Installation> {
  const directory = await mkdtemp(join(root, 'ripen-e2e-'));
  const start: Installation['start'] = (argv, environment = {}) =>
    startProcess(process.execPath, [cli, ...argv], directory, environment);
  return {
    directory,
    path: (...names) => join(directory, ...names),
    configure: (settings) =>
      writeFile(join(directory, 'ripen.yaml'), JSON.stringify(settings, null, 2)),
    start,
    run: async (argv, environment) => endedInTime(start(argv, environment)),
    files: () => filesBelow(directory),
    close: closedOnce(() => rm(directory, { recursive: true, force: true })),
  };
}

/** Before a test's own limit, which would leave the process running. */
const HUNG_MS = 150_000;

/** The end of a command; one that does not end is killed. */
async function endedInTime(running: Running): Promise<Ended> {
  const hung = setTimeout(() => running.kill('SIGKILL'), HUNG_MS);
  try {
    return await running.ended;
  } finally {
    clearTimeout(hung);
  }
}

/** The `service` settings that reach a server on loopback with the token of the environment. */
export function serviceAt(url: string): Readonly<Record<string, unknown>> {
  return {
    base_url: url,
    reports_url: url,
    cost_url: url,
    token: '${RIPEN_TOKEN}',
    max_starts_per_second: 1000,
  };
}

/** Starts any program in a directory, its output captured. */
export function startProcess(
  program: string,
  argv: readonly string[],
  directory: string,
  environment: Readonly<Record<string, string>> = {},
): Running {
  const startedAt = performance.now();
  const child = spawn(program, argv, {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', RIPEN_TOKEN: TOKEN, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const linesAtMs: number[] = [];
  let [out, err, isOver] = ['', '', false];
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
    for (let lines = text.split('\n').length - 1; lines > 0; lines -= 1)
      linesAtMs.push(performance.now() - startedAt);
    tell();
  });
  const ended = once(child, 'close').then(() => {
    isOver = true;
    tell();
    return { code: child.exitCode, out, err };
  });
  const untilTrue = (isTrue: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!isTrue() && !isOver) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
    });
  return {
    pid: child.pid ?? 0,
    linesAtMs,
    untilLine: (count) => untilTrue(() => linesAtMs.length >= count),
    until: async (words) => {
      await untilTrue(() => err.includes(words));
      if (!err.includes(words))
        throw new Error(
          `the process ended with ${child.exitCode} and never said "${words}": ${err}`,
        );
    },
    said: () => err,
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

async function filesBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .filter((path) => path !== 'ripen.yaml')
    .sort();
}
