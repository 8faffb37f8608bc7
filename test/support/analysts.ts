/** Processes that open and query published copies without pause, each for itself, as analysts and their tools do. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import * as z from 'zod';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** One query to ask again and again, each time in a session of its own. */
export interface Question {
  readonly name: string;
  /** A DuckDB file to open, or `:memory:`. */
  readonly database: string;
  /** Said first in every session; what it answers is nobody's business. */
  readonly preparation?: string;
  /** Asked one after the other in the same session; each gives one row or many. */
  readonly queries: readonly string[];
  /** Whether a session that failed is asked once more, as one that met a file being replaced may be. */
  readonly mayAskAgain?: boolean;
}

export interface Findings {
  /** Sessions that were opened, by the name of the question. */
  readonly sessions: Readonly<Record<string, number>>;
  /** Every different answer, by the name of the question: what its queries gave, as JSON. */
  readonly answers: Readonly<Record<string, readonly string[]>>;
  readonly errors: readonly string[];
  /** What went wrong in sessions that were then asked again without an error. */
  readonly askedAgain: readonly string[];
}

const findings = z.object({
  sessions: z.record(z.string(), z.number()),
  answers: z.record(z.string(), z.array(z.string())),
  errors: z.array(z.string()),
  askedAgain: z.array(z.string()),
});

const PROGRAM = `
import { DuckDBInstance } from '@duckdb/node-api';
const questions = JSON.parse(process.argv[1]);
let stopped = false;
process.stdin.resume().on('end', () => { stopped = true; });
const sessions = {}, answers = {}, errors = [], askedAgain = [];
for (const { name } of questions) { sessions[name] = 0; answers[name] = new Set(); }
const settings = { threads: '1', memory_limit: '128MB' };
async function ask({ name, database, preparation, queries }) {
  const access = database === ':memory:' ? {} : { access_mode: 'READ_ONLY' };
  const instance = await DuckDBInstance.create(database, { ...settings, ...access });
  try {
    const connection = await instance.connect();
    try {
      if (preparation !== undefined) await connection.run(preparation);
      const said = [];
      for (const sql of queries) said.push((await connection.runAndReadAll(sql)).getRowObjectsJson());
      answers[name].add(JSON.stringify(said));
      sessions[name] += 1;
    } finally { connection.closeSync(); }
  } finally { instance.closeSync(); }
}
process.stdout.write('begun\\n');
while (!stopped) {
  for (const question of questions) {
    const told = (error) => question.name + ': ' + error.message;
    await ask(question).catch(async (first) => {
      if (!question.mayAskAgain) errors.push(told(first));
      else await ask(question).then(() => askedAgain.push(told(first)), (second) => errors.push(told(second)));
    });
  }
  await new Promise(setImmediate);
}
const lists = Object.fromEntries(Object.entries(answers).map(([name, set]) => [name, [...set]]));
process.stdout.write(JSON.stringify({ sessions, answers: lists, errors, askedAgain }));
`;

/** So many analysts would leave a small machine nothing to sync with. */
const ANALYST_NICENESS = 19;

/** Starts the analysts; resolves once every one of them has begun, to the way to stop them and hear what they found. */
export async function startAnalysts(
  count: number,
  questions: readonly Question[],
): Promise<{ stop(): Promise<Findings[]> }> {
  const started = Array.from({ length: count }, () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, JSON.stringify(questions)], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    if (child.pid !== undefined) setPriority(child.pid, ANALYST_NICENESS);
    const begun = once(child.stdout, 'data');
    return { child, begun, said: text(child.stdout) };
  });
  await Promise.all(started.map(async ({ begun }) => begun));
  return {
    async stop() {
      for (const { child } of started) child.stdin.end();
      const said = await Promise.all(started.map(async (analyst) => analyst.said));
      return said.map((each) => findings.parse(JSON.parse(each.slice(each.indexOf('{')))));
    },
  };
}
