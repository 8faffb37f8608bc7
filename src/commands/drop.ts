/** `ripen drop`: a slice, or its oldest periods, out of the warehouse and every copy. */

import { Failure } from '../errors.ts';
import { drop as dropSlice, dropLoss, type Config, type Loss } from '../index.ts';
import { countText, elapsedText } from '../terminal/measure.ts';
import { dayOf, given } from './instant.ts';
import { copiesOutcome } from './publish.ts';
import { offline } from './verb.ts';
import type { Arguments } from './words.ts';

/**
 * Says what would be deleted, asks unless told not to, drops and publishes. Throws `USAGE_INVALID`, with nothing touched, where nobody
 * can be asked.
 */
export const drop = offline(async (config, stated, args: Arguments<'drop'>, shell) => {
  const { slice, yes } = args;
  const request = { ...stated, slice, before: given(dayOf, args.before, '--before') };
  if (!yes && !shell.canAsk) throw unasked(lossText(await dropLoss(config, request), config));
  const agree = async (loss: Loss): Promise<boolean> => {
    if (yes) return true;
    shell.tell(lossText(loss, config));
    return /^y(es)?$/i.test((await shell.ask('Delete it? [y/N] ')).trim());
  };
  const done = await dropSlice(config, { ...request, agree });
  const { dropped } = done;
  const what = dropped === null ? 'Nothing was deleted.' : `${nameOf(dropped)}: ${countsOf(dropped)} deleted`;
  const outcome = copiesOutcome(done, { dropped }, [what]);
  return dropped?.is_configured === true ? { ...outcome, text: `${outcome.text}\n${again(dropped)}` } : outcome;
});

const unasked = (what: string): Failure =>
  new Failure('USAGE_INVALID', `Nothing was deleted, as there was no terminal to ask at. ${what}`, {
    hint: 'Add --yes to delete without being asked.',
  });

const countsOf = ({ periods, rows }: Loss): string => `${countText(periods, 'period')} and ${countText(rows, 'row')}`;

function lossText(loss: Loss, { warehouse, publish }: Config): string {
  const files = loss.files === 0 ? '' : `, and ${countText(loss.files, 'file')} from lakes`;
  const copies = publish.flatMap((target) => {
    if (target.kind === 'duckdb') return [`${target.path} is replaced.`];
    if (target.kind !== 'delta' || target.keepMs === 0) return [];
    return [`Older versions in ${target.path} answer for ${elapsedText(target.keepMs)} more.`];
  });
  return [
    `This deletes ${nameOf(loss)}: ${countsOf(loss)} from ${warehouse}${files}.`,
    ...(loss.answers === 0 ? [] : [`It goes from ${countText(loss.answers, 'archived answer')}, too.`]),
    ...copies,
    ...(loss.is_configured ? [again(loss)] : []),
  ].join(' ');
}

const nameOf = ({ slice, before }: Loss): string =>
  before === null ? `slice ${slice}` : `slice ${slice} before ${before}`;

/** The date period says what to load. */
function again({ slice, before }: Loss): string {
  const what = before === null ? 'it again' : 'again what its date_period still covers';
  return `${slice} is configured: the next sync loads ${what}.`;
}
