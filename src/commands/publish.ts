/** `ripen publish`: the readable copies, brought up to the warehouse, or described for who reads them. */

import { lstat, mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import type { Config } from '../config/config.ts';
import { exitCodeOf, Failure } from '../errors.ts';
import { dbtCopy } from '../publish/dbt/copy.ts';
import { modelFiles, type DbtFile } from '../publish/dbt/models-sql.ts';
import { sourcesYaml } from '../publish/dbt/sources-yaml.ts';
import type { Engine } from '../publish/ddl/ddl.ts';
import { lakesDdl } from '../publish/ddl/lakes.ts';
import { publish as publishCopies } from '../publish/publish.ts';
import { ifThere, replaceText } from '../publish/replacement.ts';
import { reportText } from '../publish/report.ts';
import { refuseUnwritablePlaces } from '../run/unwritable-places.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { failureLines } from '../terminal/failure-text.ts';
import { durationOf } from './instant.ts';
import { openConfig } from './open-config.ts';
import { withWarehouse } from '../warehouse/opening.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import { namedMode, type GlobalArguments, type Shell } from '../terminal/shell.ts';

export interface PublishArguments extends GlobalArguments {
  readonly lockWait: string;
  readonly ddl: Engine | undefined;
  /** A folder for models, a file for the sources alone, or `-` or nothing for stdout. */
  readonly dbt: string | undefined;
}

/** Publishes to every configured target and says what that took; with `--ddl` or `--dbt` describes them instead. */
export async function publish(args: PublishArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const config = await openConfig(args, shell, { offline: true });
  const progress = openProgress(args, shell);
  const { emit } = progress;
  const open = async <T>(mode: 'read' | 'write', use: (warehouse: Warehouse) => Promise<T>): Promise<T> =>
    withWarehouse(config.warehouse, { mode, lockWaitMs, emit, signal: shell.signal }, use).finally(() => {
      progress.close();
    });
  const description = describing(args, config);
  if (description !== null) return tell(await open('read', description), shell);
  await refuseUnwritablePlaces(config);
  const { published, failures } = await open('write', async (warehouse) =>
    publishCopies(config, warehouse, emit, shell.signal),
  );
  for (const failure of failures) shell.tell(failureLines(failure, args, shell.now()));
  if (args.json) {
    const told = failures.map(({ code, message, hint }) => ({ code, message, hint }));
    shell.print(jsonLine({ published, failures: told }));
  } else if (published.length + failures.length === 0) shell.print('No publish target is configured.');
  for (const copy of args.json ? [] : published) shell.print(`${copy.kind} ${copy.path}: ${reportText(copy)}`);
  return exitCodeOf(failures);
}

type Describing = (warehouse: Warehouse) => Promise<readonly Description[]>;
type Description = Pick<DbtFile, 'text' | 'isExample'> & {
  /** Null for stdout. */
  readonly path: string | null;
};

function describing({ ddl, dbt }: PublishArguments, config: Config): Describing | null {
  const printed = (text: string): Description[] => [{ path: null, text, isExample: false }];
  if (ddl !== undefined) return async (warehouse) => printed(await lakesDdl(ddl, config, warehouse));
  if (dbt === undefined) return null;
  return async (warehouse) => {
    const copy = await dbtCopy(config, warehouse);
    if (dbt === '' || dbt === '-') return printed(sourcesYaml(copy));
    if (/\.ya?ml$/.test(dbt)) return [{ path: dbt, text: sourcesYaml(copy), isExample: false }];
    return modelFiles(copy).map(({ path, text, isExample }) => ({ path: join(dbt, path), text, isExample }));
  };
}

async function tell(descriptions: readonly Description[], shell: Shell): Promise<number> {
  for (const { path: named, text, isExample } of descriptions) {
    if (named === null) {
      shell.print(text.trimEnd());
      continue;
    }
    const path = resolve(shell.directory, named);
    const isKept = isExample && (await ifThere(lstat(path))) !== null;
    if (!isKept) await write(path, text, namedMode(shell));
    shell.print(`${path} ${isKept ? 'kept' : 'written'}`);
  }
  return 0;
}

async function write(path: string, text: string, mode: number): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await replaceText(path, text, mode);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure('STORAGE_FAILED', `The file ${path} could not be written: ${reason}`, {
      hint: 'Name a file or a folder that you may write to.',
      cause: error,
    });
  }
}
