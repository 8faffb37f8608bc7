/**
 * Runs the command that argv names. The only file that uses the streams, signals and exit code of the process. The first signal
 * lets the command finish or roll back. The second ends the process at once.
 */

import './commands/working-directory.ts';

import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';

import { requestedForm, parseCommandLine } from './commands/command-line.ts';
import { failedResult, failureLines } from './report/terminal/failure-text.ts';
import { JsonLine, printable } from './report/terminal/printable.ts';
import type { Shell } from './report/terminal/shell.ts';
import { scrub } from './config/secret.ts';
import {
  asFailure,
  exitCodeOf,
  exitCodes,
  Failure,
  mostSerious,
  signalExitCodes,
  type SignalName,
  Stopped,
  stoppedExitCode,
} from './errors.ts';
import { version } from './config/version.ts';

/** A run that a signal stopped has this long to end. Then the process is killed. */
const HARD_STOP_MS = 20_000;
/** A handle left open by mistake must not keep a nightly job from ending. */
const LINGER_MS = 5000;
const USUAL_COLUMNS = 80;

/** Warehouse, log and spool hold the account's numbers. */
const PRIVATE_UMASK = 0o077;

const usersUmask = process.umask(PRIVATE_UMASK);
// By default garbage may take 100 MB more in a night of 300 slices, and 2 % less processor time (measured).
setFlagsFromString('--heap-growing-percent=40');
// The S3 client would warn about the Node version on every run.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';

const stopping = new AbortController();
let stoppedBy: SignalName | null = null;
const form = requestedForm(process.argv.slice(2));

const shell: Shell = {
  environment: process.env,
  directory: process.cwd(),
  // Reading and writing, as far as the user's umask allows.
  mode: 0o666 & ~usersUmask,
  signal: stopping.signal,
  isTerminal: process.stderr.isTTY && process.env['TERM'] !== 'dumb',
  columns: () => process.stderr.columns ?? USUAL_COLUMNS,
  resultColumns: () => (process.stdout.isTTY ? (process.stdout.columns ?? USUAL_COLUMNS) : null),
  now: () => new Date(),
  stdout: process.stdout,
  print: (text) => process.stdout.write(`${safe(text)}\n`),
  printError: (text) => process.stderr.write(`${safe(text)}\n`),
  paint: (text) => process.stderr.write(scrub(text)),
  canAsk: process.stdin.isTTY && process.stderr.isTTY,
  ask,
};

/** Scrubs last: removing a control character can make a secret whole again. */
const safe = (text: string | JsonLine) =>
  text instanceof JsonLine ? text.text : scrub(printable(text));

/** A signal ends the waiting. The end of the input counts as an empty answer. */
async function ask(question: string) {
  const { createInterface } = await import('node:readline/promises');
  // The terminal itself edits the line and turns Ctrl-C into a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const ended = once(lines, 'close').then(() => '');
  try {
    return await Promise.race([
      lines.question(scrub(printable(question)), { signal: stopping.signal }),
      ended,
    ]);
  } finally {
    lines.close();
  }
}

// A reader such as `| head` may close its end early: the rest of the output is lost, the load is not.
process.stderr.on('error', () => {});
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') unwritten ??= error;
});
let unwritten: Error | null = null;

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

for (const name of SIGNALS) {
  process.on(name, () => {
    if (stoppedBy !== null) {
      // To exit takes until every thread ends. The next signal then ends the process.
      for (const signal of SIGNALS) process.removeAllListeners(signal);
      process.exit(signalExitCodes[name]);
    }
    stoppedBy = name;
    stopping.abort(new Stopped(name));
    setTimeout(() => {
      // Ended by the signal itself, the process waits for no thread.
      process.removeAllListeners(name);
      process.kill(process.pid, name);
      // The first process of a container survives signals that it does not handle.
      process.exit(signalExitCodes[name]);
    }, HARD_STOP_MS).unref();
  });
}

for (const name of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(name, (thrown: unknown) => {
    process.exit(report(thrown));
  });
}

function report(thrown: unknown) {
  const failure = asFailure(thrown, stopping.signal);
  const isInterruption = failure.code === 'INTERRUPTED';
  if (!isInterruption) shell.printError(failureLines(failure, form, shell.now()));
  if (form.json) shell.print(failedResult(isInterruption ? null : failure));
  return exitCodeOf([failure]);
}

async function main() {
  try {
    const command = await parseCommandLine(process.argv.slice(2), version);
    if (command.kind === 'act') return await command.act(shell);
    if (command.kind === 'text') shell.print(command.text);
    else shell.printError(command.text);
    return command.kind === 'text' ? 0 : exitCodes.usage;
  } catch (thrown) {
    const exitCode = report(thrown);
    return stoppedBy === null ? exitCode : exitCodes.interrupted;
  }
}

async function run() {
  let exitCode = await main();
  // Until stdout took every result.
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  await setImmediate();
  if (unwritten !== null && exitCode !== exitCodes.storage) {
    const message = `The result could not be written to stdout: ${unwritten.message}`;
    const hint = 'Free space where stdout goes, and run the command again.';
    const failure = new Failure('STORAGE_FAILED', message, { hint, cause: unwritten });
    shell.printError(failureLines(failure, form, shell.now()));
    exitCode = mostSerious([exitCode, exitCodes.storage]);
  }
  // A signal that arrived after the command had its result stopped nothing.
  process.exitCode =
    exitCode === exitCodes.interrupted ? stoppedExitCode(stopping.signal) : exitCode;
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

/** Awaited by the file that starts it, so that Node reports a command that never ends. */
export const ended = run();
