/** `ripen spend send`: ad spend to the service, no Cost ID twice. */

import { resolve } from 'node:path';

import { exitCodeOf, exitCodes } from '../errors.ts';
import { sendSpend, type SpendSummary } from '../index.ts';
import { countText, groupedText } from '../terminal/measure.ts';
import { oneLine } from '../terminal/printable.ts';
import { online } from './verb.ts';
import type { Arguments } from './words.ts';

/** Judges the file, sends what is due, and says what became of the lines. */
export const spendSend = online(async (config, stated, args: Arguments<'spend send'>, shell) => {
  const { dryRun, resendUnknown } = args;
  const file = resolve(shell.directory, args.file);
  const summary = await sendSpend(config, { ...stated, file, dryRun, resendUnknown });
  const { failures } = summary;
  const isStopped = failures.some(({ code }) => code === 'INTERRUPTED');
  return {
    json: summary,
    text: spendText(summary, dryRun),
    failures,
    exitCode: isStopped ? exitCodes.interrupted : exitCodeOf(failures),
  };
});

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
