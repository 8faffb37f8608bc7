/** `ripen demo`: the guided tour, step by step on the screen. */

import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { exitCodeOf, exitCodes } from '../errors.ts';
import type { Emit } from '../events.ts';
import { demo as runTour, statusPage, type SyncSummary, type TourStep } from '../index.ts';
import { groupedFailures } from '../status/failure-groups.ts';
import type { SliceStatus } from '../status/status-report.ts';
import { countText, elapsedText, groupedText, minuteText, percentText } from '../terminal/measure.ts';
import { openProgress } from '../terminal/progress.ts';
import type { Shell } from '../terminal/shell.ts';
import { statusText } from '../terminal/status-text.ts';
import { reasonsText, summaryText, summedReasons } from '../terminal/summary-text.ts';
import { columnsOf, indented, tableText, wrapped } from '../terminal/table.ts';
import type { CommandOutcome } from './outcome.ts';
import { planText } from './plan.ts';
import { wholeNumberOf, writeNamed } from './verb.ts';
import type { Arguments } from './words.ts';

const USUAL_COLUMNS = 80;
const INDENT = 2;
const MOST_NIGHTS = 366;
const detailed = { details: true, maturation: true, backtest: false } as const;
/** A dashboard of the published copy, to be built by who wants one. */
const dashboard = fileURLToPath(new URL('../../config/bi/README.md', import.meta.url));

/** Runs the tour, and prints each step when it is done; the failures are those of its nights. */
export async function demo(args: Arguments<'demo'>, shell: Shell): Promise<CommandOutcome> {
  const { directory, environment, signal } = shell;
  const startedAt = shell.now();
  const nights = wholeNumberOf(args.nights, '--nights', MOST_NIGHTS);
  const progress = openProgress(args, shell);
  const show = async (step: TourStep): Promise<void> => {
    const text = step.kind === 'done' ? await doneText(step, shell) : stepText(step, shell);
    progress.makeRoom();
    shell.print(text);
  };
  // The steps tell what each night came to; of what is not repainted, a month of nights would be a long list.
  const isListed = !shell.isTerminal && args.log === 'text' && args.verbose !== true;
  const emit: Emit = (event) => {
    if (!isListed || event.type === 'warning' || event.type === 'failed') progress.emit(event);
  };
  try {
    const options = { directory, environment, file: args.config, now: startedAt, nights, emit, signal };
    const summaries = await runTour(args.json ? options : { ...options, tell: show });
    const failures = groupedFailures(summaries.flatMap((summary) => summary.failures));
    const text = `The tour took ${elapsedText(shell.now().getTime() - startedAt.getTime())}.`;
    const exitCode = signal.aborted ? exitCodes.interrupted : exitCodeOf(failures);
    return { json: { nights: summaries }, text, failures, exitCode };
  } finally {
    progress.close();
  }
}

/** A heading and what stands below it. */
function section(heading: string, ...texts: readonly string[]): string {
  return `== ${heading}\n\n${texts.map((text) => `${indented(text)}\n`).join('\n')}`;
}

/** Inside a directory a path from there, elsewhere the whole path: as somebody in the working directory would type it. */
function typedPath(path: string, { directory }: Shell): string {
  const inside = relative(directory, path);
  return inside === '' || inside.startsWith('..') ? path : inside;
}

function stepText(step: Exclude<TourStep, { kind: 'done' }>, shell: Shell): string {
  switch (step.kind) {
    case 'begun':
      return begunText(step, shell);
    case 'planned':
      return section(`The last night, ${nightText(step)}: what is due, and why`, planText(step.plan, true));
    case 'playing':
      return `== ${countText(step.nights.length, 'night')} between, of the first slice alone: what was new, what changed\n`;
    case 'played':
      return `${indented(playedText(step.summaries))}\n`;
    case 'loaded':
    default: {
      const published = step.summary.published.map((copy) => ({ ...copy, path: typedPath(copy.path, shell) }));
      const first = `The first night, ${nightText(step)}: everything is new`;
      const heading = step.isFirst ? first : 'The last night: what it loaded';
      return section(heading, summaryText({ ...step.summary, published }));
    }
  }
}

const nightText = ({ night }: { readonly night: Date }): string => minuteText(night.toISOString());

function begunText({ config, nights, nightsLeft }: Extract<TourStep, { kind: 'begun' }>, shell: Shell): string {
  const folder = `${typedPath(dirname(config.warehouse), shell)}/`;
  if (nightsLeft === null)
    return `${countText(nights, 'night')} of \`ripen sync\`, against a service simulated on this machine, into ${folder}.\n`;
  const rest = nightsLeft === 0 ? 'every night is in it already' : `${countText(nightsLeft, 'night')} to go`;
  return `${folder} is there from an earlier tour: ${rest}. Delete it to start over.\n`;
}

/** What several nights loaded together, a line a slice. */
function playedText(summaries: readonly SyncSummary[]): string {
  const all = summaries.flatMap(({ slices }) => slices);
  const lines = [...new Set(all.map(({ name }) => name))].map((name) => {
    const nights = all.filter((slice) => slice.name === name);
    const rows = nights.reduce((sum, slice) => sum + slice.rows.loaded, 0);
    const restated = nights.reduce((sum, slice) => sum + slice.restated_periods, 0);
    const reasons = reasonsText(summedReasons(nights.map(({ periods }) => periods)));
    return `${name}: ${countText(rows, 'row')}, ${countText(restated, 'period')} restated: ${reasons}`;
  });
  return lines.join('\n');
}

/** What the warehouse knows by now, what an analyst gets out of its published copy, and where to look further. */
async function doneText(
  { config, status, questions }: Extract<TourStep, { kind: 'done' }>,
  shell: Shell,
): Promise<string> {
  const typed = (path: string): string => typedPath(path, shell);
  const columns = (shell.resultColumns() ?? USUAL_COLUMNS) - INDENT;
  const page = join(dirname(config.warehouse), 'status.html');
  await writeNamed(page, await statusPage(status), shell);
  const file = typed(config.file);
  const [copy] = questions.map((question) => typed(question.copy));
  const rows = [
    [typed(page), 'the same as a page with pictures: open it in a browser'],
    [`npx ripen status --config ${file}`, 'the status once more'],
    [`npx ripen plan --config ${file}`, 'what the next night would request'],
  ];
  if (copy !== undefined) {
    rows.push([`duckdb -readonly ${copy}`, 'SQL: `from network_daily_final` has final values alone']);
    rows.push([typed(dashboard), `how to build a dashboard from ${copy}`]);
  }
  const lessons = status.slices.slice(0, 1).flatMap(lessonsOf);
  const shown = { ...status, warehouse: typed(status.warehouse) };
  return [
    section('Where every value stands', statusText(shown, columns, detailed)),
    ...questions.map(({ sql, answer }) => section(`An analyst asks ${copy}`, sql, answerText(answer))),
    section('What the nights have shown', lessons.map((lesson) => wrapped(lesson, columns)).join('\n\n')),
    section('Open next', tableText({ columns: columnsOf('where', 'what'), rows })),
  ].join('\n');
}

/** A sentence each on finality, restatements, maturation, projections and audits, as far as the nights have shown them. */
function lessonsOf({ name, cells, restated_nights: nights, maturation, backtest, audited }: SliceStatus): string[] {
  const totals = nights.flatMap(({ metrics }) => metrics).reduce((sum, { periods }) => sum + periods, 0);
  const [tried] = backtest
    .filter(({ is_projected: isProjected }) => isProjected)
    .toSorted((a, b) => (b.median_abs_error_as_is ?? 0) - (a.median_abs_error_as_is ?? 0));
  const first = maturation.find(({ metric, age_days: age }) => metric === (tried?.metric ?? metric) && age === 1);
  const lessons = [
    `Final: ${groupedText(cells.final)} of ${groupedText(cells.expected)} values of ${name} (a day and a metric each) were fetched after they could last change. ${name}_final shows these alone.`,
  ];
  if (totals > 0)
    lessons.push(
      `Restated: in ${countText(nights.length, 'night')}, ${countText(totals, 'total')} of a day changed after they were loaded. The table ripen.restatements has each, before and after.`,
    );
  if (first !== undefined)
    lessons.push(
      `Maturing: a day after its end, half of the days had ${percentText(first.share_median, 1)} of their final ${first.metric} or less. ${name}_maturation has the curve of each metric.`,
    );
  if (tried !== undefined)
    lessons.push(
      `Projected: from such curves, ${name}_projected tells what to expect of a value that still matures. At age ${tried.age_days} of ${tried.metric} that missed the final total by ${percentText(tried.median_abs_error ?? 0, 1)} (median of ${tried.cohorts} days), the value as it was by ${percentText(tried.median_abs_error_as_is ?? 0, 1)}.`,
    );
  if (audited !== null)
    lessons.push(
      `Audited: final values of ${countText(audited.drawn_periods, 'day')} drawn at random, and of ${audited.periods - audited.drawn_periods} that were due for another value, were fetched again: ${groupedText(audited.changed)} of ${groupedText(audited.cells)} had changed.`,
    );
  return lessons;
}

/** A table of what the rows are about and of numbers, with commas and as many decimals as the query rounded them to. */
function answerText(answer: readonly Readonly<Record<string, string | number | null>>[]): string {
  const [first = '', ...numbers] = Object.keys(answer.at(0) ?? {});
  const rows = answer.map((row) => {
    const figures = numbers.map((name) => String(row[name] ?? ''));
    return [String(row[first] ?? ''), ...figures.map((figure) => figure.replaceAll(THOUSANDS, ','))];
  });
  return tableText({ columns: columnsOf(first, ...numbers.map((name) => `#${name}`)), rows });
}

/** The places between groups of three digits before the decimal point. */
const THOUSANDS = /(?<=^-?\d+)(?=(?:\d{3})+(?:\.|$))/g;
