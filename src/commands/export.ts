/** `ripen export`: one slice as a file, or on stdout. */

import type { Day } from '../model/calendar.ts';
import { Failure } from '../errors.ts';
import { exportFormats, type ExportFormat } from '../publish/export-sql.ts';
import { exportSlice } from '../publish/export.ts';
import { dayOf, durationOf } from './instant.ts';
import { countText } from './measure.ts';
import { namedSlices } from './named-slices.ts';
import { openConfig, withWarehouse } from './open.ts';
import { jsonLine } from './printable.ts';
import { openProgress } from './progress/progress.ts';
import { namedMode, type GlobalArguments, type Shell } from './shell.ts';

export interface ExportArguments extends GlobalArguments {
  readonly slice: string;
  readonly output: string;
  readonly format: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly finalOnly: boolean;
  readonly lockWait: string;
}

/** Exports the slice and says how many rows; says nothing on stdout when the rows go there. */
export async function exportRows(args: ExportArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const config = await openConfig(args, shell, { offline: true });
  namedSlices(config, [args.slice]);
  const request = {
    slice: args.slice,
    output: args.output,
    format: formatNamed(args.format),
    from: dayNamed(args.from, '--from'),
    to: dayNamed(args.to, '--to'),
    finalOnly: args.finalOnly,
    mode: namedMode(shell),
  };
  const progress = openProgress(args, shell);
  const { emit } = progress;
  const exported = await withWarehouse(
    config.warehouse,
    { mode: 'read', lockWaitMs, emit, signal: shell.signal },
    async (warehouse) => exportSlice(warehouse, request, shell.stdout),
  ).finally(() => {
    progress.close();
  });
  if (args.output === '-') return 0;
  const { slice, output, rows } = exported;
  shell.print(args.json ? jsonLine({ exported }) : `${slice}: ${countText(rows, 'row')} written to ${output}`);
  return 0;
}

function formatNamed(text: string | undefined): ExportFormat | null {
  if (text === undefined) return null;
  const format = exportFormats.find((known) => known === text);
  if (format !== undefined) return format;
  throw new Failure('USAGE_INVALID', `The format ${text} was not known; there are ${exportFormats.join(', ')}.`, {
    hint: 'Use one of them, or leave --format out and let the extension of --output decide.',
  });
}

const dayNamed = (text: string | undefined, option: string): Day | null =>
  text === undefined ? null : dayOf(text, option);
