/** `ripen links create`: a new network link or sub-link. */

import { createLink, judgeLink, type LinkWriting, type NewLink, type WrittenLink } from '../links/write-link.ts';
import { warehouseExists } from '../warehouse/opening.ts';
import { askService } from './ask.ts';
import { asOfInstant, durationOf } from './instant.ts';
import { levelName, linkFields } from './links-list.ts';
import { countText } from '../terminal/measure.ts';
import { openConfig } from './open-config.ts';
import { simulatedNow, withService } from '../run/service-in-use.ts';
import { withWarehouse } from '../warehouse/opening.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { tableText } from '../terminal/table.ts';

export interface LinksCreateArguments extends GlobalArguments {
  readonly app: string;
  readonly name: string;
  readonly parent: string | undefined;
  readonly dryRun: boolean;
  readonly lockWait: string;
}

/** Creates the link and prints it; with `--dry-run` says what would be created, and creates nothing. */
export async function linksCreate(args: LinksCreateArguments, shell: Shell): Promise<number> {
  const { app: appToken, name, parent = null } = args;
  if (args.dryRun) return judged(args, { appToken, name, parent }, shell);
  return writeLink(args, shell, (writing) => createLink(writing, { appToken, name, parent }));
}

async function judged(args: GlobalArguments, wanted: NewLink, shell: Shell): Promise<number> {
  const { appToken, name, parent } = wanted;
  return askService(args, shell, {
    name: 'namesakes',
    ask: async (service, signal, emit) => judgeLink({ service, signal, emit }, wanted),
    asText: (namesakes) =>
      `would create ${JSON.stringify(name)} ${parent === null ? 'as a network link' : `below ${parent}`} of the app ${appToken}; ${countText(namesakes.length, 'link')} of that name. Nothing was sent.`,
    asFields: linkFields,
  });
}

/**
 * Carries out one write and prints the link it left. The warehouse is held before anything is sent, so that what the
 * service did is stored too; none is made where there is none.
 */
export async function writeLink(
  args: GlobalArguments & { readonly lockWait: string },
  shell: Shell,
  write: (writing: LinkWriting) => Promise<WrittenLink>,
): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const config = await openConfig(args, shell);
  const at = asOfInstant(args.asOf, shell.now()) ?? simulatedNow(config) ?? shell.now();
  const progress = openProgress(args, shell);
  const { emit } = progress;
  const { signal } = shell;
  const withLedger = async (warehouse: LinkWriting['warehouse']): Promise<WrittenLink> =>
    withService(config, at, emit, async (service) => write({ service, warehouse, at, emit, signal }));
  const writing = warehouseExists(config.warehouse)
    ? withWarehouse(config.warehouse, { mode: 'write', lockWaitMs, emit, signal }, withLedger)
    : withLedger(null);
  const written = await writing.finally(() => {
    progress.close();
  });
  shell.print(
    args.json ? jsonLine({ link: linkFields(written.link), stored: written.isStored }) : writtenText(written),
  );
  return 0;
}

function writtenText({ link, isStored }: WrittenLink): string {
  const rows = [
    ['token', link.token],
    ['name', link.name],
    ['level', levelName(link.level)],
    ['partner', link.partnerId ?? ''],
    ['cost data', link.costDataEnabled ? 'yes' : 'no'],
    ['url', link.url ?? ''],
    ['click url', link.clickUrl ?? ''],
    ['impression url', link.impressionUrl ?? ''],
  ];
  const afterword = isStored ? 'Stored in the warehouse.' : 'Not stored: the next crawl of the app will bring it.';
  return `${tableText([{ title: 'field' }, { title: 'value' }], rows)}\n${afterword}`;
}
