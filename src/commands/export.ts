/** `ripen export`: one slice as a file, or on stdout. */

import type { Config, ObjectStore } from '../config/config.ts';
import { bucketAndPrefix } from '../config/publish-settings.ts';
import type { Day } from '../model/calendar.ts';
import { Failure } from '../errors.ts';
import { exportFormats, type ExportFormat } from '../publish/export-sql.ts';
import { exportSlice } from '../publish/export.ts';
import { dayOf, durationOf } from './instant.ts';
import { countText } from '../terminal/measure.ts';
import { namedSlices } from './named-slices.ts';
import { openConfig } from './open-config.ts';
import { withWarehouse } from '../warehouse/opening.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';

export interface ExportArguments extends GlobalArguments {
  readonly slice: string | undefined;
  readonly table: string | undefined;
  readonly asIs: boolean;
  readonly output: string;
  readonly format: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly finalOnly: boolean | undefined;
  readonly lockWait: string;
}

/** Exports a slice or a table and says how many rows; says nothing on stdout when the rows go there. */
export async function exportRows(args: ExportArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const config = await openConfig(args, shell, { offline: true });
  const { slice: named, table } = args;
  if (table === undefined) namedSlices(config, named === undefined ? [] : [named]);
  const relation = table ?? named;
  if (relation === undefined) {
    throw new Failure('USAGE_INVALID', 'The export was told nothing to write.', { hint: 'Give --slice or --table.' });
  }
  const request = {
    slice: relation,
    isTable: table !== undefined,
    asIs: args.asIs,
    store: storeOf(args.output, config),
    signal: shell.signal,
    output: args.output,
    format: formatNamed(args.format),
    from: dayNamed(args.from, '--from'),
    to: dayNamed(args.to, '--to'),
    finalOnly: args.finalOnly ?? false,
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

/** The bucket an output names, reached as a configured target in it is, else as the environment says; null for a file. */
function storeOf(output: string, { publish }: Config): ObjectStore | null {
  if (!output.startsWith('s3://')) return null;
  const place = bucketAndPrefix(output);
  if (place === null || place.prefix === '') {
    throw new Failure('USAGE_INVALID', `The output ${output} named no object of a bucket.`, {
      hint: 'Write --output as s3://bucket/key.csv.',
    });
  }
  const known = publish.flatMap((target) =>
    target.kind === 'duckdb' || target.store === undefined ? [] : [target.store],
  );
  const reached = known.find(({ bucket }) => bucket === place.bucket);
  return { endpoint: null, region: null, pathStyle: false, ...reached, ...place };
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
