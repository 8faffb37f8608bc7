/** `ripen status`: what is fresh, what is final, what moved. */

import { resolve } from 'node:path';

import { exitCodes, Failure, textOf } from '../errors.ts';
import { status as statusOf, statusPage, type StatusReport } from '../index.ts';
import { writeOutput } from '../publish/replacement.ts';
import { jsonLine } from '../terminal/printable.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';
import { statusText } from '../terminal/status-text.ts';
import { withConfig } from './verb.ts';

interface StatusArguments extends GlobalArguments {
  /** Slices to show in detail; all on one line each without it. */
  readonly slice?: readonly string[] | undefined;
  /** Where to write the page; none without it. */
  readonly html: string | undefined;
  readonly lockWait: string | undefined;
  readonly failOn?: 'watch' | 'failed' | undefined;
  readonly maturation?: boolean | undefined;
  readonly backtest?: boolean | undefined;
}

/**
 * Prints the status report, or writes it as a page; a warehouse that does not exist yet is an empty one. Resolves to 65
 * where things are as bad as `--fail-on` says, or worse.
 */
export async function status(args: StatusArguments, shell: Shell): Promise<number> {
  const { slice, html, failOn, maturation = false, backtest = false } = args;
  const page = html === undefined ? null : resolve(shell.directory, html);
  const report = await withConfig(args, shell, true, async (config, stated) => {
    const whole = await statusOf(config, page === null ? stated : { ...stated, output: page });
    return slice === undefined ? whole : { ...whole, slices: named(whole, slice) };
  });
  if (page !== null) await writePage(page, report, namedMode(shell));
  const shown = { details: slice !== undefined, maturation, backtest };
  if (args.json) shell.print(jsonLine(report));
  else if (html === undefined) shell.print(statusText(report, shell.resultColumns(), shown));
  else shell.print(`${report.health.headline}\nwritten to ${html}`);
  const { state } = report.health;
  return failOn === state || (failOn === 'watch' && state === 'failed') ? exitCodes.contract : 0;
}

function named({ slices }: StatusReport, names: readonly string[]): StatusReport['slices'] {
  const unknown = names.filter((name) => slices.every((slice) => slice.name !== name));
  if (unknown.length === 0) return slices.filter(({ name }) => names.includes(name));
  throw new Failure('USAGE_INVALID', `The configuration declared no slice named ${unknown.join(', ')}.`, {
    hint: `Name one of ${slices.map(({ name }) => name).join(', ')}.`,
  });
}

/** Writes the report as a page with these file rights, whole or not at all. Throws `STORAGE_FAILED`, `USAGE_INVALID`. */
export async function writePage(path: string, report: StatusReport, mode: number): Promise<void> {
  try {
    await writeOutput(path, await statusPage(report), mode);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure('STORAGE_FAILED', `The page ${path} could not be written: ${textOf(error)}`, {
      hint: 'Name a file in a directory that exists and may be written to.',
      cause: error,
    });
  }
}
