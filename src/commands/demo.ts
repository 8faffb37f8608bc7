/**
 * `ripen demo`: the guided tour. Two nights against the bundled simulator, with the configuration that comes with the
 * package; what the second night fetched again and why; one analyst's question to the published copy.
 */

import { existsSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import * as z from 'zod';

import type { Config } from '../config/config.ts';
import { exitCodeOf, Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import { explainPlan } from '../run/plan-report.ts';
import { connected, type SimulatedWorld, startWorld } from '../run/service-in-use.ts';
import type { SyncSummary } from '../run/summary.ts';
import { groupedFailures } from '../status/failure-groups.ts';
import { statusOf } from '../status/status-of.ts';
import { sync } from '../sync.ts';
import { failuresOf, failuresText } from '../terminal/failure-text.ts';
import { elapsedText, minuteText } from '../terminal/measure.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import { type GlobalArguments, namedMode, type Shell } from '../terminal/shell.ts';
import { statusText } from '../terminal/status-text.ts';
import { summaryText } from '../terminal/summary-text.ts';
import { indented, tableText } from '../terminal/table.ts';
import { openWarehouse } from '../warehouse/opening.ts';
import { openConfig } from './open-config.ts';
import { planText } from './plan.ts';
import { writePage } from './status.ts';

/** The configuration that comes with the package, which may lie where nobody may write. */
const bundled = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url));
/** Its paths start one folder up, as from here. */
const OWN_CONFIG = 'data/demo.yaml';

const NIGHT = { hour: 2, minute: 30 } as const;
/** A night that has only just begun could be later than the clock of the machine that reads it. */
const MARGIN_MS = 60_000;
const LOCK_WAIT_MS = 60_000;
const USUAL_COLUMNS = 80;
const INDENT = 2;

/** What every part of the tour needs: where it looks, whom it tells, and what it shows. */
interface Tour {
  readonly config: Config;
  readonly shell: Shell;
  readonly emit: Emit;
  /** Prints a heading and what stands below it. */
  readonly show: (heading: string, ...texts: readonly string[]) => void;
  /** A path as somebody in the working directory would type it. */
  readonly typed: (path: string) => string;
}

/** Runs the tour; resolves to the exit code of the gravest failure of its nights. */
export async function demo(args: GlobalArguments, shell: Shell): Promise<number> {
  const startedAt = shell.now();
  const config = await openConfig({ config: args.config ?? (await ownConfig(shell)) }, shell);
  const progress = openProgress(args, shell);
  const print = (text: string): void => {
    if (args.json) return;
    progress.makeRoom();
    shell.print(text);
  };
  const tour: Tour = {
    config,
    shell,
    emit: progress.emit,
    show: (heading, ...texts) => {
      print(`== ${heading}\n\n${texts.map((text) => `${indented(text)}\n`).join('\n')}`);
    },
    typed: (path) => typedPath(path, shell.directory),
  };
  try {
    const nights = twoNightsBefore(startedAt);
    const summaries = await runNights(tour, nights, await nightsLeft(tour, nights, print));
    const failures = summaries.flatMap((summary) => summary.failures);
    if (failures.length > 0) shell.tell(failuresText(groupedFailures(failures)));
    else if (!shell.signal.aborted && !args.json) await showResult(tour, nights[1]);
    print(`The tour took ${elapsedText(shell.now().getTime() - startedAt.getTime())}.`);
    if (args.json) shell.print(jsonLine({ nights: summaries }));
    return exitCodeOf(failuresOf(failures));
  } finally {
    progress.close();
  }
}

/** The configuration of the tour in the working directory, put there unless an earlier tour did. Throws `STORAGE_FAILED`. */
async function ownConfig({ directory }: Shell): Promise<string> {
  const path = join(directory, OWN_CONFIG);
  try {
    await mkdir(dirname(path), { recursive: true });
    if (!existsSync(path)) await copyFile(bundled, path);
    return path;
  } catch (cause) {
    throw new Failure('STORAGE_FAILED', `The tour could not write ${path}: ${String(cause)}`, {
      hint: 'Change to a directory that you may write to.',
      cause,
    });
  }
}

/** The last two instants at which a nightly job would have run, a day apart. */
export function twoNightsBefore(now: Date): readonly [Date, Date] {
  const latest = now.getTime() - MARGIN_MS;
  const today = new Date(latest).setUTCHours(NIGHT.hour, NIGHT.minute, 0, 0);
  const second = today <= latest ? today : today - MS_PER_DAY;
  return [new Date(second - MS_PER_DAY), new Date(second)];
}

/** Inside a directory a path from there, elsewhere the whole path. */
function typedPath(path: string, directory: string): string {
  const inside = relative(directory, path);
  return inside === '' || inside.startsWith('..') ? path : inside;
}

/** Time only goes on: a night that an earlier tour has loaded, or gone past, is not run again. */
async function nightsLeft(
  { config, emit, typed }: Tour,
  nights: readonly Date[],
  print: (text: string) => void,
): Promise<readonly Date[]> {
  const folder = `${typed(dirname(config.warehouse))}/`;
  if (!existsSync(config.warehouse)) {
    print(`Two nights against a service simulated on this machine, into ${folder}.\n`);
    return nights;
  }
  const { runs } = await statusOf(config, new Date(), LOCK_WAIT_MS, emit);
  const newest = Math.max(0, ...runs.map((run) => Date.parse(run.as_of)));
  const left = nights.filter((night) => night.getTime() > newest);
  const rest = left.length === 0 ? 'both nights are in it already' : 'it is continued';
  print(`${folder} is there from an earlier tour: ${rest}. Delete it to start over.\n`);
  return left;
}

async function runNights(tour: Tour, nights: readonly Date[], left: readonly Date[]): Promise<SyncSummary[]> {
  const { config, shell } = tour;
  const [first] = left;
  if (first === undefined) return [];
  if (config.service.kind !== 'simulator') {
    throw new Failure('USAGE_INVALID', `The tour was given ${config.file}, which names a real service.`, {
      hint: 'Run `ripen demo` without --config, or `ripen sync` for your own service.',
    });
  }
  const world = await startWorld(config.service, first);
  try {
    const summaries: SyncSummary[] = [];
    for (const night of left) {
      if (shell.signal.aborted) break;
      const ordinal = night === nights[0] ? 'first' : 'second';
      summaries.push(await runNight(tour, world, night, ordinal));
    }
    return summaries;
  } finally {
    await world.close();
  }
}

/** Syncs as of one night. Before the second, what is due is shown with its reasons. */
async function runNight(
  { config, shell, emit, show, typed }: Tour,
  world: SimulatedWorld,
  night: Date,
  ordinal: 'first' | 'second',
): Promise<SyncSummary> {
  const at = minuteText(night.toISOString());
  const { signal } = shell;
  world.setNow(night);
  if (ordinal === 'second') {
    const asked = { asOf: night, slices: null, lockWaitMs: LOCK_WAIT_MS, emit, signal };
    show(`The second night, ${at}: what is due, and why`, planText(await explainPlan(config, asked)));
  }
  const summary = await connected(world.service, emit, async (service) =>
    sync(config, service, nightly(night), emit, signal),
  );
  const published = summary.published.map((copy) => ({ ...copy, path: typed(copy.path) }));
  show(
    ordinal === 'first' ? `The first night, ${at}: everything is new` : 'The second night: what came of it',
    summaryText({ ...summary, published }),
  );
  return summary;
}

function nightly(asOf: Date): Parameters<typeof sync>[2] {
  return {
    command: 'sync',
    asOf,
    slices: null,
    forced: null,
    acceptLoss: false,
    lockWaitMs: LOCK_WAIT_MS,
    deadlineMs: null,
  };
}

/** What the warehouse now holds, what an analyst gets out of its published copy, and where to look further. */
async function showResult({ config, shell, emit, show, typed }: Tour, night: Date): Promise<void> {
  const report = await statusOf(config, night, LOCK_WAIT_MS, emit);
  const shown = { ...report, warehouse: typed(report.warehouse) };
  show('What is final, what moved', statusText(shown, (shell.resultColumns() ?? USUAL_COLUMNS) - INDENT));
  const copy = config.publish.find((target) => target.kind === 'duckdb');
  if (copy !== undefined) {
    show(`An analyst asks ${typed(copy.path)}`, DEMO_QUESTION, DEMO_QUERY, await demoAnswer(copy.path));
  }
  const page = join(dirname(config.warehouse), 'status.html');
  await writePage(page, report, namedMode(shell));
  const file = typed(config.file);
  const places = [
    [typed(page), 'the same as a page with pictures'],
    [`npx ripen status --config ${file}`, 'the status once more'],
    [`npx ripen plan --config ${file}`, 'what the next night would ask for'],
    ...(copy === undefined ? [] : [[`duckdb -readonly ${typed(copy.path)}`, 'the copy for analysts']]),
  ];
  show('Look around', tableText([{ title: 'where' }, { title: 'what' }], places));
}

const DEMO_QUESTION =
  'Which networks earned back within 30 days of the install what they cost?\nOnly what can no longer change counts.';

/** The question in SQL; the final view leaves out what may still change. */
const DEMO_QUERY = `select
    network,
    sum(installs) as installs,
    round(sum(cost), 2) as cost,
    round(sum(all_revenue_total_d30), 2) as revenue_d30,
    round(sum(all_revenue_total_d30) / sum(cost), 3) as returned
from network_daily_final
where all_revenue_total_d30 is not null
group by network
having sum(cost) > 0
order by sum(cost) desc
limit 5`;

const answerRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));

/** The answer as a table. Throws what opening the copy throws. */
async function demoAnswer(copy: string): Promise<string> {
  const opened = await openWarehouse(copy, { mode: 'read', lockWaitMs: 0, emit: () => {} });
  try {
    const rows = await opened.rows(DEMO_QUERY, [], answerRow);
    const names = Object.keys(rows.at(0) ?? {});
    return tableText(
      names.map((title, index) => ({ title, align: index === 0 ? 'left' : 'right' })),
      rows.map((row) => names.map((name, index) => (index === 0 ? String(row[name] ?? '') : figureText(row[name])))),
    );
  } finally {
    await opened.close();
  }
}

/** A number of the answer with commas, its decimals as the query rounded them. */
function figureText(figure: string | number | null | undefined): string {
  const [whole = '', decimals] = String(figure ?? '').split('.');
  const grouped = whole.replaceAll(/(?<=\d)(?=(?:\d{3})+$)/g, ',');
  return decimals === undefined ? grouped : `${grouped}.${decimals}`;
}
