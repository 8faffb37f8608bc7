/** `ripen drop`: a slice, or its oldest periods, out of the warehouse and every copy. */

import { Failure } from '../errors.ts';
import { drop as dropSlice, dropLoss, type Config, type Loss } from '../index.ts';
import { countText, elapsedText } from '../terminal/measure.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { dayOf } from './instant.ts';
import { reportCopies } from './publish.ts';
import { withConfig } from './verb.ts';

export interface DropArguments extends GlobalArguments {
  readonly slice: string;
  readonly before: string | undefined;
  readonly yes: boolean;
  readonly lockWait: string;
}

/**
 * Says what would be deleted, asks unless told not to, drops and publishes. Throws `USAGE_INVALID`, with nothing touched, where nobody
 * can be asked.
 */
export async function drop(args: DropArguments, shell: Shell): Promise<number> {
  const before = args.before === undefined ? null : dayOf(args.before, '--before');
  const { slice } = args;
  const done = await withConfig(args, shell, true, async (config, stated) => {
    if (!args.yes && !shell.canAsk) throw unasked(config, await dropLoss(config, { ...stated, slice, before }));
    const agree = async (loss: Loss): Promise<boolean> => isAgreed(lossText(loss, config), args, shell);
    return dropSlice(config, { ...stated, slice, before, agree });
  });
  const { dropped } = done;
  if (dropped === null)
    return reportCopies(done, { fields: { dropped }, lines: ['Nothing was deleted.'] }, args, shell);
  const deleted = `${countText(dropped.periods, 'period')} and ${countText(dropped.rows, 'row')} deleted`;
  const lines = [`${nameOf(dropped)}: ${deleted}`];
  const exitCode = reportCopies(done, { fields: { dropped }, lines }, args, shell);
  if (dropped.is_configured && !args.json) shell.print(again(dropped));
  return exitCode;
}

/** Asks, unless told not to. */
async function isAgreed(what: string, args: DropArguments, shell: Shell): Promise<boolean> {
  if (args.yes) return true;
  shell.tell(what);
  return /^y(es)?$/i.test((await shell.ask('Delete it? [y/N] ')).trim());
}

function unasked(config: Config, loss: Loss): Failure {
  return new Failure(
    'USAGE_INVALID',
    `Nothing was deleted, as there was no terminal to ask at. ${lossText(loss, config)}`,
    {
      facts: { ...loss },
      hint: 'Add --yes to delete without being asked.',
    },
  );
}

function lossText(loss: Loss, { warehouse, publish }: Config): string {
  const counts = [countText(loss.periods, 'period'), countText(loss.rows, 'row')].join(' and ');
  const files = loss.files === 0 ? '' : `, and ${countText(loss.files, 'file')} from lakes`;
  const copies = publish.flatMap((target) => {
    if (target.kind === 'duckdb') return [`${target.path} is replaced.`];
    if (target.kind !== 'delta' || target.keepMs === 0) return [];
    return [`Older versions in ${target.path} answer for ${elapsedText(target.keepMs)} more.`];
  });
  return [
    `This deletes ${nameOf(loss)}: ${counts} from ${warehouse}${files}.`,
    ...(loss.answers === 0 ? [] : [`It goes from ${countText(loss.answers, 'archived answer')}, too.`]),
    ...copies,
    ...(loss.is_configured ? [again(loss)] : []),
  ].join(' ');
}

const nameOf = ({ slice, before }: Loss): string =>
  before === null ? `slice ${slice}` : `slice ${slice} before ${before}`;

/** The date period says what to load. */
function again({ slice, before }: Loss): string {
  return before === null
    ? `${slice} is configured: the next sync loads it again.`
    : `${slice} is configured: the next sync loads again what its date_period still covers.`;
}
