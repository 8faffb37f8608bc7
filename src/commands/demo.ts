/** `ripen demo`: prints a line for each night, then what the last ones found. */

import { dirname, join } from 'node:path';

import { exitCodeOf, Failure } from '../errors.ts';
import { demo as runTour, statusPage, type SyncSummary, type Tour } from '../index.ts';
import { countText } from '../model/measure.ts';
import type { Shell } from '../report/terminal/shell.ts';
import { newsText } from '../report/terminal/news-text.ts';
import { statusText } from '../report/terminal/status-text.ts';
import { reasonsText } from '../report/terminal/summary-text.ts';
import { indented, tableText, wrapped } from '../report/terminal/table.ts';
import type { CommandOutcome } from './outcome.ts';
import { inProgress, wholeNumberUpTo, writeNamed } from './verb.ts';
import type { Arguments } from './words.ts';

const USUAL_COLUMNS = 100;
const INDENT = 2;
const MAX_NIGHTS = 366;

export async function demo(args: Arguments<'demo'>, shell: Shell): Promise<CommandOutcome> {
  if (args.config !== undefined)
    throw new Failure('USAGE_INVALID', 'The tour has its own configuration: leave out --config.');
  const nights = wholeNumberUpTo(MAX_NIGHTS)(args.nights, '--nights');
  const isBrief = args.log === 'text' && args.verbose !== true;
  const onNight = (night: SyncSummary) => {
    if (isBrief && args.quiet !== true) shell.printError(nightText(night));
  };
  const form = isBrief ? { ...args, quiet: true } : args;
  const tour = await inProgress(form, shell, async ({ emit, signal }) => {
    const { directory } = shell;
    return runTour({ directory, now: shell.now(), nights, onNight, emit, signal });
  });
  const page = join(dirname(tour.config.warehouse), 'status.html');
  await writeNamed(page, await statusPage(tour.status), shell);
  // A held night is a part of the tour, as long as a later one was published.
  const last = tour.nights.at(-1);
  const failures = tour.nights.flatMap((night) =>
    night.failures.filter(({ code }) => code !== 'AUDIT_HELD' || night === last),
  );
  return {
    json: { nights: tour.nights },
    text: (columns) => tourText(tour, page, (columns ?? USUAL_COLUMNS) - INDENT),
    failures,
    exitCode: exitCodeOf(failures),
  };
}

const isHeld = ({ failures }: SyncSummary) => failures.some(({ code }) => code === 'AUDIT_HELD');

function nightText(night: SyncSummary) {
  const parts = night.slices.map(
    ({ name, periods, rows, restated_periods: restated }) =>
      `${name} ${reasonsText(periods)}: ${countText(rows.loaded, 'row')}, ${restated} restated`,
  );
  const failed = night.failures.filter(({ code }) => code !== 'AUDIT_HELD').length;
  if (night.published.length > 0) parts.push('published');
  if (isHeld(night)) parts.push('held by an audit');
  if (failed > 0) parts.push(countText(failed, 'failure'));
  return `${night.as_of.slice(0, 10)}  ${parts.join('; ')}`;
}

const section = (heading: string, ...texts: readonly string[]) =>
  `== ${heading}\n\n${texts.map((text) => `${indented(text)}\n`).join('\n')}`;

function tourText({ config, told, status, questions }: Tour, page: string, columns: number) {
  const sections = told.map(({ summary, status: after, newestDays }) => {
    const { title, lines } = newsText(after);
    const isCorrected = after.news.items.some(({ kind }) => kind === 'final total moved');
    let story = isCorrected ? ': final values changed at the service' : '';
    if (isHeld(summary)) story = ': held back by an audit';
    const news = lines.map((line) =>
      indented(wrapped(line, columns - 2 * INDENT).replaceAll('\n', `\n${' '.repeat(INDENT)}`)),
    );
    const texts = [[title, ...news].join('\n')];
    if (newestDays !== null)
      texts.push(`What readers of ${newestDays.copy} see:\n${answerText(newestDays)}`);
    return section(`The night of ${summary.as_of.slice(0, 10)}${story}`, ...texts);
  });
  if (told.length === 0)
    sections.push(`${config.warehouse} holds every night already; delete it to start over.\n`);
  return [
    ...sections,
    section('Where every value stands', statusText(status, columns)),
    ...questions.map((question) =>
      section(`An analyst asks ${question.copy}`, question.sql, answerText(question)),
    ),
    section(
      'Open next',
      `${page} in a browser
npx ripen status --news --config ${config.file}
npx ripen plan --config ${config.file}
in SQL, <slice>_final contains only final values, <slice>_maturation and <slice>_projected estimate the rest`,
    ),
  ].join('\n');
}

function answerText({ answer }: Tour['questions'][number]) {
  const [first = '', ...numbers] = Object.keys(answer.at(0) ?? {});
  const rows = answer.map((row) => Object.values(row).map((cell) => String(cell ?? '')));
  return tableText({ columns: [first, ...numbers.map((name) => `#${name}`)], rows });
}
