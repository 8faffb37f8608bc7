/** `ripen publish`: the readable copies, brought up to the warehouse, or described for who reads them. */

import { resolve } from 'node:path';

import type { Config } from '../config/config.ts';
import { exitCodeOf } from '../errors.ts';
import { dbtCopy } from '../publish/dbt/copy.ts';
import { sourcesYaml } from '../publish/dbt/sources-yaml.ts';
import type { Engine } from '../publish/ddl/ddl.ts';
import { lakesDdl } from '../publish/ddl/lakes.ts';
import { publish as publishCopies } from '../publish/publish.ts';
import { replaceText } from '../publish/replacement.ts';
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
  /** A file, or `-` or nothing for stdout. */
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
  if (description !== null) return tell(await open('read', description), args.dbt, shell);
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

function describing(
  { ddl, dbt }: PublishArguments,
  config: Config,
): ((warehouse: Warehouse) => Promise<string>) | null {
  if (ddl !== undefined) return async (warehouse) => lakesDdl(ddl, config, warehouse);
  if (dbt !== undefined) return async (warehouse) => sourcesYaml(await dbtCopy(config, warehouse));
  return null;
}

async function tell(text: string, file: string | undefined, shell: Shell): Promise<number> {
  if (file === undefined || file === '' || file === '-') {
    shell.print(text.trimEnd());
    return 0;
  }
  const path = resolve(shell.directory, file);
  await replaceText(path, text, namedMode(shell));
  shell.print(`${path} written`);
  return 0;
}
