/**
 * The code of a room changed in every way Stryker knows, one change at a time, and what its tests said to each.
 *
 * Hides Stryker and how it is made to fit: it works on copies outside the tree, and leaves nothing behind.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import * as z from 'zod';

import { strykerFolder } from '../../config/tooling/install-stryker.ts';
import type { Room } from './rooms.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A mutant that makes a test take this much longer than usual runs for ever. */
const MOST_EXTRA_MS = 20_000;
/** Any other end, as of a run that broke down, is no test's merit. */
const noticed: ReadonlySet<string> = new Set(['Killed', 'Timeout']);

const placeShape = z.object({ line: z.number(), column: z.number() });
const reportShape = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.string(),
      mutants: z.array(
        z.object({
          mutatorName: z.string(),
          replacement: z.string().default(''),
          status: z.string(),
          location: z.object({ start: placeShape, end: placeShape }),
        }),
      ),
    }),
  ),
});

type Mutant = z.infer<typeof reportShape>['files'][string]['mutants'][number];

export interface MutatedFile {
  readonly file: string;
  readonly mutants: number;
  /** Where each mutant was that no test noticed, what stood there, and what was put in its place. */
  readonly survivors: readonly string[];
}

/** Runs the tests of a room against each of its mutants, so many at once. Rejects when they fail without any. */
export async function mutate(room: Room, workers: number): Promise<MutatedFile[]> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-mutation-'));
  try {
    const [settingsFile, reportFile] = [join(directory, 'settings.json'), join(directory, 'report.json')];
    const settings = {
      testRunner: 'vitest',
      plugins: ['@stryker-mutator/vitest-runner'],
      vitest: { configFile: 'config/tooling/vitest.mutant.config.ts', related: false },
      mutate: room.mutate,
      ignorePatterns: ['dist', 'docs'],
      coverageAnalysis: 'perTest',
      concurrency: workers,
      timeoutMS: MOST_EXTRA_MS,
      tempDirName: join(directory, 'copies'),
      // It would be rewritten with the compiler's own interface, which TypeScript 7 does not have.
      tsconfigFile: 'none',
      reporters: ['progress-append-only', 'json'],
      jsonReporter: { fileName: reportFile },
      allowConsoleColors: false,
    };
    await writeFile(settingsFile, JSON.stringify(settings));
    await stryker(settingsFile, room.tests);
    const { files } = reportShape.parse(JSON.parse(await readFile(reportFile, 'utf8')));
    return Object.entries(files).map(([file, { source, mutants }]) => ({
      file,
      mutants: mutants.length,
      survivors: mutants.filter(({ status }) => !noticed.has(status)).map((mutant) => textOf(mutant, source)),
    }));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function stryker(settingsFile: string, tests: readonly string[]): Promise<void> {
  const child = spawn(join(strykerFolder, 'node_modules', '.bin', 'stryker'), ['run', settingsFile], {
    cwd: root,
    // Not the rest: a test runner inside another would take itself for a worker.
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], MUTATION_TESTS: tests.join(',') },
    stdio: 'inherit',
  });
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`Stryker ended with ${child.exitCode}.`);
}

function textOf({ location: { start, end }, mutatorName, replacement, status }: Mutant, source: string): string {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const [first = '', last = ''] = [lines.at(0), lines.at(-1)];
  const before =
    lines.length === 1
      ? first.slice(start.column - 1, end.column - 1)
      : [first.slice(start.column - 1), ...lines.slice(1, -1), last.slice(0, end.column - 1)].join(' ');
  return `${start.line}:${start.column} ${mutatorName} (${status}): ${oneLine(before)} → ${oneLine(replacement)}`;
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
