/** `ripen spend send`: ad spend to the service, no Cost ID twice. */

import { resolve } from 'node:path';

import { exitCodeOf, exitCodes, Failure } from '../errors.ts';
import { sendSpend, type SpendSummary } from '../index.ts';
import type { RunEvent } from '../events.ts';
import type { SpendFailure } from '../spend/spend-summary.ts';
import { failuresText } from '../terminal/failure-text.ts';
import { countText, groupedText } from '../terminal/measure.ts';
import { jsonLine, oneLine } from '../terminal/printable.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { withConfig } from './verb.ts';

interface SpendSendArguments extends GlobalArguments {
  readonly file: string;
  readonly dryRun: boolean;
  readonly resendUnknown: boolean;
  readonly lockWait: string;
}

/** Judges the file, sends what is due, prints the counts; resolves to the gravest failure's exit code, or that it was stopped. */
export async function spendSend(args: SpendSendArguments, shell: Shell): Promise<number> {
  const { dryRun, resendUnknown } = args;
  const file = resolve(shell.directory, args.file);
  const summary = await withConfig(args, shell, false, async (config, stated) => {
    const done = await sendSpend(config, { ...stated, file, dryRun, resendUnknown });
    // As text they follow with their hints; a log of events has to hold them.
    if (args.log === 'json') for (const failure of done.failures) stated.emit(failedEvent(failure));
    return done;
  });
  if (args.log === 'text' && summary.failures.length > 0) shell.tell(failuresText(summary.failures));
  shell.print(args.json ? jsonLine(summary) : spendText(summary, dryRun));
  if (summary.failures.some(({ code }) => code === 'INTERRUPTED')) return exitCodes.interrupted;
  return exitCodeOf(summary.failures.map(({ code, message }) => new Failure(code, message)));
}

function failedEvent(failure: SpendFailure): RunEvent {
  return { type: 'failed', slice: null, window: null, ...failure };
}

/** What became of the lines, for people. */
function spendText(summary: SpendSummary, dryRun: boolean): string {
  const { lines, valid, rejected, sent, accepted, refused, unknown, rejects_file: rejectsFile } = summary;
  const unsent = summary.to_send - sent;
  return [
    `${countText(lines, 'line')}: ${groupedText(valid)} valid, ${groupedText(rejected)} rejected`,
    dryRun
      ? `would send ${groupedText(summary.to_send)}; nothing was sent and nothing recorded`
      : `sent ${groupedText(sent)}: ${groupedText(accepted)} accepted, ${groupedText(refused)} rejected by the service`,
    `accepted earlier ${groupedText(summary.already_accepted)}, outcome unknown ${groupedText(unknown)}`,
    ...(dryRun || unsent === 0 ? [] : [`not sent yet ${groupedText(unsent)}`]),
    ...(rejectsFile === null ? [] : [`rejects with their reasons: ${oneLine(rejectsFile)}`]),
  ].join('\n');
}
