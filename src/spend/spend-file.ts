/** Which file ad spend is read from, and in which form: by its extension, and a regular file only. */

import { stat } from 'node:fs/promises';
import { extname } from 'node:path';

import { Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { UnknownColumns } from './column-names.ts';
import { csvRecords } from './csv-records.ts';
import { ndjsonRecords } from './ndjson-records.ts';
import { parquetRecords } from './parquet-records.ts';
import type { SpendRecords } from './spend-record.ts';

const extensions = ['.csv', '.ndjson', '.parquet'] as const;

/** The records of a spend file, read as they are asked for; throws `USAGE_INVALID` for what is no such file. */
export async function openSpendFile(file: string, warehouse: Warehouse, emit: Emit): Promise<SpendRecords> {
  const given = extname(file).toLowerCase();
  const extension = extensions.find((known) => known === given);
  if (extension === undefined) {
    throw new Failure('USAGE_INVALID', `${file} had the extension "${given}", not ${extensions.join(', ')}.`, {
      facts: { file },
      hint: 'Name the file after its form: .csv, .ndjson or .parquet.',
    });
  }
  await refuseIrregular(file);
  const unknown = new UnknownColumns(file, emit);
  if (extension === '.csv') return csvRecords(file, unknown);
  return extension === '.ndjson' ? ndjsonRecords(file, unknown) : parquetRecords(file, warehouse, unknown);
}

/** A pipe would be read once and a device for ever; neither leaves a place for the rejects. */
async function refuseIrregular(file: string): Promise<void> {
  const found = await stat(file).catch((cause: unknown) => {
    throw new Failure('USAGE_INVALID', `The spend file ${file} could not be found.`, {
      facts: { file },
      hint: 'Give the path of an existing file.',
      cause,
    });
  });
  if (found.isFile()) return;
  throw new Failure('USAGE_INVALID', `${file} was no regular file.`, { facts: { file }, hint: 'Give a regular file.' });
}
