/** `ripen demo`: runs the guided tour and shows its results. */

import { dirname, join } from 'node:path';

import { exitCodeOf } from '../errors.ts';
import { demo as runTour, statusPage, type SliceStatus, type Tour } from '../index.ts';
import { groupedFailures } from '../report/status/failure-groups.ts';
import { groupedText, minuteText, percentText } from '../report/terminal/measure.ts';
import type { Shell } from '../report/terminal/shell.ts';
import { statusText } from '../report/terminal/status-text.ts';
import { summaryText } from '../report/terminal/summary-text.ts';
import { columnsOf, indented, tableText, wrapped } from '../report/terminal/table.ts';
import type { CommandOutcome } from './outcome.ts';
import { inProgress, placeOf, wholeNumberOf, writeNamed } from './verb.ts';
import type { Arguments } from './words.ts';

const USUAL_COLUMNS = 80;
const INDENT = 2;
const MAX_NIGHTS = 366;
const detailed = { details: true, maturation: true, backtest: false } as const;

export async function demo(args: Arguments<'demo'>, shell: Shell): Promise<CommandOutcome> {
  const nights = wholeNumberOf(args.nights, '--nights', MAX_NIGHTS);
  const tour = await inProgress(args, shell, async ({ emit, signal }) =>
    runTour({ ...placeOf(args, shell), now: shell.now(), nights, emit, signal }),
  );
  const page = join(dirname(tour.config.warehouse), 'status.html');
  await writeNamed(page, await statusPage(tour.status), shell);
  const failures = groupedFailures(tour.nights.flatMap((night) => night.failures));
  return {
    json: { nights: tour.nights },
    text: (columns) => tourText(tour, page, columns),
    failures,
    exitCode: exitCodeOf(failures),
  };
}

function tourText(
  { config, nights, status, questions }: Tour,
  page: string,
  terminal: number | null,
): string {
  const columns = (terminal ?? USUAL_COLUMNS) - INDENT;
  const lessons = status.slices.slice(0, 1).flatMap(lessonsOf);
  const [first, ...others] = nights;
  return [
    first === undefined
      ? `${config.warehouse} holds every night already; delete it to start over.\n`
      : section(`The first night, ${minuteText(first.as_of)}: what it loaded`, summaryText(first)),
    ...others.slice(-1).map((last) => {
      const heading = `The last night, ${minuteText(last.as_of)}: what it refreshed, and why`;
      return section(heading, summaryText(last));
    }),
    section('Where every value stands', statusText(status, columns, detailed)),
    ...questions.map(({ copy, sql, answer }) =>
      section(`An analyst asks ${copy}`, sql, answerText(answer)),
    ),
    section(
      'What the nights have shown',
      lessons.map((lesson) => wrapped(lesson, columns)).join('\n'),
    ),
    section('Open next', nextText(page, config)),
  ].join('\n');
}

const section = (heading: string, ...texts: readonly string[]): string =>
  `== ${heading}\n\n${texts.map((text) => `${indented(text)}\n`).join('\n')}`;

function lessonsOf({ maturation, backtest, control }: SliceStatus): string[] {
  const [tried] = backtest
    .filter(({ basis }) => basis === 'ladder')
    .toSorted((a, b) => (b.median_abs_error_as_is ?? 0) - (a.median_abs_error_as_is ?? 0));
  const first = maturation.find(
    ({ metric, age_days: age }) => metric === (tried?.metric ?? metric) && age === 1,
  );
  const lessons: string[] = [];
  if (first !== undefined) {
    const share = percentText(first.share_median, 1);
    lessons.push(
      `A day after its end, half of the days had ${share} of their final ${first.metric} or less.`,
    );
  }
  if (tried !== undefined) {
    const missed = percentText(tried.median_abs_error ?? 0, 1);
    const asIs = percentText(tried.median_abs_error_as_is ?? 0, 1);
    lessons.push(
      `At age ${tried.age_days}, projections missed the final ${tried.metric} by ${missed} in the median; the value as it was missed it by ${asIs}.`,
    );
  }
  if (control?.moved === 0)
    lessons.push(`All ${groupedText(control.totals)} totals agree with the service.`);
  return lessons;
}

function answerText(answer: Tour['questions'][number]['answer']): string {
  const [first = '', ...numbers] = Object.keys(answer.at(0) ?? {});
  const rows = answer.map((row) => Object.values(row).map((cell) => String(cell ?? '')));
  return tableText({ columns: columnsOf(first, ...numbers.map((name) => `#${name}`)), rows });
}

const nextText = (page: string, { file }: Tour['config']): string => `${page} in a browser
npx ripen plan --config ${file}
in SQL, <slice>_final has final values alone, <slice>_maturation and <slice>_projected what the others will come to`;
