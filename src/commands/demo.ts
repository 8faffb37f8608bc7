/** `ripen demo`: the guided tour, step by step on the screen. */

import { dirname, join, relative } from 'node:path';

import { exitCodes } from '../errors.ts';
import { demo as runTour, exitCodeOf, type TourStep } from '../index.ts';
import { groupedFailures } from '../status/failure-groups.ts';
import { failuresOf, failuresText } from '../terminal/failure-text.ts';
import { elapsedText, minuteText } from '../terminal/measure.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import { type GlobalArguments, namedMode, type Shell } from '../terminal/shell.ts';
import { statusText } from '../terminal/status-text.ts';
import { summaryText } from '../terminal/summary-text.ts';
import { indented, tableText } from '../terminal/table.ts';
import { planText } from './plan.ts';
import { writePage } from './status.ts';

const USUAL_COLUMNS = 80;
const INDENT = 2;
const detailed = { details: true, maturation: false, backtest: false } as const;

/** Runs the tour; resolves to the exit code of the gravest failure of its nights, or that it was stopped. */
export async function demo(args: GlobalArguments, shell: Shell): Promise<number> {
  const { directory, environment, signal } = shell;
  const startedAt = shell.now();
  const progress = openProgress(args, shell);
  const print = (text: string): void => {
    progress.makeRoom();
    shell.print(text);
  };
  const show = async (step: TourStep): Promise<void> => {
    print(step.kind === 'done' ? await doneText(step, shell) : stepText(step, shell));
  };
  try {
    const { emit } = progress;
    const options = { directory, environment, file: args.config, now: startedAt, emit, signal };
    const nights = await runTour(args.json ? options : { ...options, tell: show });
    const failures = nights.flatMap((summary) => summary.failures);
    if (failures.length > 0) shell.tell(failuresText(groupedFailures(failures)));
    const took = elapsedText(shell.now().getTime() - startedAt.getTime());
    if (args.json) shell.print(jsonLine({ nights }));
    else print(`The tour took ${took}.`);
    return signal.aborted ? exitCodes.interrupted : exitCodeOf(failuresOf(failures));
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
  if (step.kind === 'begun') {
    const folder = `${typedPath(dirname(step.config.warehouse), shell)}/`;
    if (step.nightsLeft === null) {
      return `Two nights against a service simulated on this machine, into ${folder}.\n`;
    }
    const rest = step.nightsLeft === 0 ? 'both nights are in it already' : 'it is continued';
    return `${folder} is there from an earlier tour: ${rest}. Delete it to start over.\n`;
  }
  const at = minuteText(step.night.toISOString());
  if (step.kind === 'planned')
    return section(`The second night, ${at}: what is due, and why`, planText(step.plan, true));
  const published = step.summary.published.map((copy) => ({ ...copy, path: typedPath(copy.path, shell) }));
  return section(
    step.isFirst ? `The first night, ${at}: everything is new` : 'The second night: what came of it',
    summaryText({ ...step.summary, published }),
  );
}

/** What the warehouse now holds, what an analyst gets out of its published copy, and where to look further. */
async function doneText(
  { config, status, question }: Extract<TourStep, { kind: 'done' }>,
  shell: Shell,
): Promise<string> {
  const typed = (path: string): string => typedPath(path, shell);
  const shown = { ...status, warehouse: typed(status.warehouse) };
  const page = join(dirname(config.warehouse), 'status.html');
  await writePage(page, status, namedMode(shell));
  const file = typed(config.file);
  const places = [
    [typed(page), 'the same as a page with pictures'],
    [`npx ripen status --config ${file}`, 'the status once more'],
    [`npx ripen plan --config ${file}`, 'what the next night would ask for'],
    ...(question === null ? [] : [[`duckdb -readonly ${typed(question.copy)}`, 'the copy for analysts']]),
  ];
  return [
    section(
      'What is final, what moved',
      statusText(shown, (shell.resultColumns() ?? USUAL_COLUMNS) - INDENT, detailed),
    ),
    ...(question === null
      ? []
      : [section(`An analyst asks ${typed(question.copy)}`, question.sql, answerText(question.answer))]),
    section('Look around', tableText([{ title: 'where' }, { title: 'what' }], places)),
  ].join('\n');
}

type Figure = string | number | null;

function answerText(rows: readonly Readonly<Record<string, Figure>>[]): string {
  const names = Object.keys(rows.at(0) ?? {});
  return tableText(
    names.map((title, index) => ({ title, align: index === 0 ? 'left' : 'right' })),
    rows.map((row) => names.map((name, index) => (index === 0 ? String(row[name] ?? '') : figureText(row[name])))),
  );
}

/** A number of the answer with commas, its decimals as the query rounded them. */
function figureText(figure: Figure | undefined): string {
  const [whole = '', decimals] = String(figure ?? '').split('.');
  const grouped = whole.replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
  return decimals === undefined ? grouped : `${grouped}.${decimals}`;
}
