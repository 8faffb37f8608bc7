/** `ripen publish`, `export` and `drop`. */

import { join, resolve } from 'node:path';

import {
  dbtSources,
  drop as dropSlice,
  dropLoss,
  exportRows as writeRows,
  lakeDdl,
  publish as publishCopies,
  readConfig,
  type Config,
  type Loss,
  type Publication,
} from '../index.ts';
import { Failure } from '../errors.ts';
import { copyAt } from '../publish/copies.ts';
import { assertOutput } from '../publish/places/destinations.ts';
import { countText, elapsedText } from '../model/measure.ts';
import type { Shell } from '../report/terminal/shell.ts';
import { dayOf, parseOption, offline, placeOf, withConfig, writeNamed } from './verb.ts';
import type { Arguments } from './words.ts';

export async function publish(all: Arguments<'publish'>, shell: Shell) {
  const { config: [file, ...files] = [], ddl, dbt } = all;
  if (ddl === undefined && files.length > 0) {
    const message = `The command line was refused: --config was given ${files.length + 1} times.`;
    const hint = 'Publish each configuration by itself; --ddl describes several as one.';
    throw new Failure('USAGE_INVALID', message, { hint });
  }
  return withConfig({ ...all, config: file }, shell, true, async (config, options) => {
    if (ddl !== undefined) {
      const others = await Promise.all(
        files.map(async (config) => readConfig({ ...placeOf({ config }, shell), offline: true })),
      );
      return described(null, await lakeDdl(config, { ...options, engine: ddl, others }));
    }
    if (dbt === undefined) {
      const done = await publishCopies(config, options);
      const isIdle = done.published.length + done.failures.length === 0;
      return copiesOutcome(done, {}, isIdle ? ['No publish target is configured.'] : []);
    }
    const sources = await dbtSources(config, options);
    if (dbt === '' || dbt === '-') return described(null, sources);
    const file = /\.ya?ml$/.test(dbt) ? dbt : join(dbt, 'ripen_sources.yml');
    const path = resolve(shell.directory, file);
    await assertOutput(config, path);
    await writeNamed(path, sources, shell, true);
    return described(path, sources);
  });
}

function copiesOutcome({ published, failures }: Publication, fields: object, lines: string[]) {
  const copies = published.map((copy) => {
    const { files_written: written, files_removed: removed, also_written: also } = copy;
    const done = [...also];
    if (removed > 0) done.unshift(`${removed} removed`);
    if (written > 0) done.unshift(`${countText(written, 'file')} written`);
    return `${copy.kind} ${copy.path}: ${done.join(', ') || 'up to date'}`;
  });
  const failed = failures.map(({ code, message, hint }) => ({ code, message, hint }));
  return {
    json: { ...fields, published, failures: failed },
    text: [...lines, ...copies].join('\n'),
    failures,
  };
}

function described(path: string | null, text: string) {
  if (path === null) return { json: { described: [{ path, text }] }, text: text.trimEnd() };
  return { json: { described: [{ path, written: true }] }, text: `${path} written` };
}

export const exportRows = offline(async (config, options, args: Arguments<'export'>, shell) => {
  const { slice, table, asIs, output, finalOnly = false, format = null } = args;
  const from = parseOption(dayOf, args.from, '--from');
  const to = parseOption(dayOf, args.to, '--to');
  const chosen = { ...options, slice, table, asIs, finalOnly, from, to };
  const { stdout: stream, mode } = shell;
  const exported = await writeRows(config, { ...chosen, output, format, stream, mode });
  if (output === '-') return {};
  const text = `${exported.slice}: ${countText(exported.rows, 'row')} written to ${exported.output}`;
  return { json: { exported }, text };
});

export const drop = offline(async (config, options, args: Arguments<'drop'>, shell) => {
  const { slice, yes } = args;
  const request = { ...options, slice, before: parseOption(dayOf, args.before, '--before') };
  if (!yes && !shell.canAsk) {
    const loss = lossText(await dropLoss(config, request), config);
    const message = `Nothing was deleted: there is no terminal to ask for confirmation. ${loss}`;
    const hint = 'Use --yes to delete without confirmation.';
    throw new Failure('USAGE_INVALID', message, { hint });
  }
  const agree = async (loss: Loss) => {
    if (yes) return true;
    shell.printError(lossText(loss, config));
    return /^y(es)?$/i.test((await shell.ask('Delete it? [y/N] ')).trim());
  };
  const done = await dropSlice(config, { ...request, agree });
  const { dropped } = done;
  if (dropped === null) return copiesOutcome(done, { dropped }, ['Nothing was deleted.']);
  const what = `${nameOf(dropped)}: ${countsOf(dropped)} deleted`;
  const outcome = copiesOutcome(done, { dropped }, [what]);
  if (dropped.is_configured) outcome.text += `\n${again(dropped)}`;
  return outcome;
});

const countsOf = ({ periods, rows }: Loss) =>
  `${countText(periods, 'period')} and ${countText(rows, 'row')}`;

function lossText(loss: Loss, { warehouse, publish }: Config) {
  const copies = publish.map((target) => {
    const { keepMs } = copyAt(target);
    const versions = `; older versions there answer for ${elapsedText(keepMs)} more`;
    return `It is deleted from ${target.path}, too${keepMs === 0 ? '' : versions}.`;
  });
  const lines = [`This deletes ${nameOf(loss)}: ${countsOf(loss)} from ${warehouse}.`];
  if (loss.answers > 0)
    lines.push(`This also deletes ${countText(loss.answers, 'archived answer')}, each as a whole.`);
  lines.push(...copies);
  if (loss.is_configured) lines.push(again(loss));
  return lines.join(' ');
}

const nameOf = ({ slice, before }: Loss) =>
  before === null ? `slice ${slice}` : `slice ${slice} before ${before}`;

/** With `--before`, the date period decides what the next sync loads again. */
function again({ slice, before }: Loss) {
  const what = before === null ? 'it again' : 'again what its date_period still covers';
  return `${slice} is configured: the next sync loads ${what}.`;
}
