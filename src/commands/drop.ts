/** `ripen drop`: a slice, or its oldest periods, out of the warehouse and every copy. */

import type { Config } from '../config/config.ts';
import { dropSlice, type Loss } from '../drop.ts';
import { exitCodeOf, Failure } from '../errors.ts';
import { reportText } from '../publish/report.ts';
import { failureLines } from '../terminal/failure-text.ts';
import { dayOf, durationOf } from './instant.ts';
import { countText, elapsedText } from '../terminal/measure.ts';
import { openConfig } from './open-config.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';

export interface DropArguments extends GlobalArguments {
  readonly slice: string;
  readonly before: string | undefined;
  readonly yes: boolean;
  readonly lockWait: string;
}

/** Says what would be deleted, asks unless told not to, drops and publishes; `USAGE_INVALID` where nobody can be asked. */
export async function drop(args: DropArguments, shell: Shell): Promise<number> {
  const lockWaitMs = durationOf(args.lockWait, '--lock-wait');
  const before = args.before === undefined ? null : dayOf(args.before, '--before');
  const config = await openConfig(args, shell, { offline: true });
  const progress = openProgress(args, shell);
  const { emit } = progress;
  const agree = async (loss: Loss): Promise<boolean> => {
    const what = lossText(loss, config);
    if (args.yes) return true;
    shell.tell(what);
    const answer = await shell.ask('Delete it? [y/N] ');
    if (answer !== null) return /^y(es)?$/i.test(answer.trim());
    throw new Failure('USAGE_INVALID', `Nothing was deleted, as there was no terminal to ask at. ${what}`, {
      facts: { ...loss },
      hint: 'Add --yes to delete without being asked.',
    });
  };
  const request = { slice: args.slice, before, lockWaitMs };
  const done = await dropSlice(config, request, { emit, signal: shell.signal, agree }).finally(() => {
    progress.close();
  });
  const { dropped, published, failures } = done;
  for (const failure of failures) shell.tell(failureLines(failure, args, shell.now()));
  if (args.json) {
    const told = failures.map(({ code, message, hint }) => ({ code, message, hint }));
    shell.print(jsonLine({ dropped, published, failures: told }));
    return exitCodeOf(failures);
  }
  if (dropped === null) {
    shell.print('Nothing was deleted.');
    return 0;
  }
  shell.print(
    `${nameOf(dropped)}: ${countText(dropped.periods, 'period')} and ${countText(dropped.rows, 'row')} deleted`,
  );
  for (const copy of published) shell.print(`${copy.kind} ${copy.path}: ${reportText(copy)}`);
  if (dropped.is_configured) shell.print(again(dropped));
  return exitCodeOf(failures);
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
