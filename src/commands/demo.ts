/**
 * `ripen demo`: the guided tour. Two nights against the bundled simulator, with the configuration that comes with the
 * package; what the second night fetched again and why; one analyst's question to the published copy.
 */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import type { Config } from '../config/config.ts';
import { exitCodeOf, Failure } from '../errors.ts';
import type { Emit } from '../events.ts';
import { MS_PER_DAY } from '../model/calendar.ts';
import type { StatusReport } from '../status/status-report.ts';
import { sync } from '../sync.ts';
import type { SyncSummary } from '../sync-summary.ts';
import { demoAnswer, DEMO_QUESTION } from './demo-question.ts';
import { failuresOf, failuresText } from './failure-text.ts';
import { elapsedText } from './measure.ts';
import { connected, openConfig, startWorld } from './open.ts';
import { indented } from './table.ts';
import { openProgress } from './progress/progress.ts';
import { jsonLine } from './printable.ts';
import type { GlobalArguments, Shell } from './shell.ts';
import { statusOf } from './status.ts';
import { statusText } from './status-text.ts';
import { summaryText } from './summary-text.ts';

const demoConfig = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url));

const NIGHT = { hour: 2, minute: 30 } as const;
/** A night that has only just begun could be later than the clock of the machine that reads it. */
const MARGIN_MS = 60_000;
const LOCK_WAIT_MS = 60_000;

/** Runs the tour; resolves to the exit code of the gravest failure of its nights. */
export async function demo(args: GlobalArguments, shell: Shell): Promise<number> {
  const startedAt = shell.now();
  const config = await openConfig({ config: args.config ?? demoConfig }, shell);
  const progress = openProgress(args, shell);
  const say = (text: string): void => {
    if (!args.json) shell.print(`${text}\n`);
  };
  try {
    const nights = twoNightsBefore(startedAt);
    const summaries = await runNights(
      config,
      await nightsLeft(config, nights, progress.emit, say),
      shell,
      progress.emit,
      say,
    );
    const failures = summaries.flatMap((summary) => summary.failures);
    if (failures.length > 0) shell.tell(failuresText(failures));
    else if (!shell.signal.aborted) await showResult(config, nights[1], progress.emit, say);
    say(`The tour took ${elapsedText(shell.now().getTime() - startedAt.getTime())}.`);
    if (args.json) shell.print(jsonLine({ nights: summaries }));
    return exitCodeOf(failuresOf(failures));
  } finally {
    progress.close();
  }
}

/** The last two instants at which a nightly job would have run, a day apart. */
export function twoNightsBefore(now: Date): readonly [Date, Date] {
  const latest = now.getTime() - MARGIN_MS;
  const today = new Date(latest).setUTCHours(NIGHT.hour, NIGHT.minute, 0, 0);
  const second = today <= latest ? today : today - MS_PER_DAY;
  return [new Date(second - MS_PER_DAY), new Date(second)];
}

/** Time only goes on: a night that an earlier tour has loaded, or gone past, is not run again. */
async function nightsLeft(
  config: Config,
  nights: readonly Date[],
  emit: Emit,
  say: (text: string) => void,
): Promise<readonly Date[]> {
  if (!existsSync(config.warehouse)) return nights;
  const { runs } = await statusOf(config, new Date(), LOCK_WAIT_MS, emit);
  const newest = Math.max(0, ...runs.map((run) => Date.parse(run.as_of)));
  const left = nights.filter((night) => night.getTime() > newest);
  const rest = left.length === 0 ? 'both nights are in it already' : 'it is continued';
  say(`${config.warehouse} is there from an earlier tour: ${rest}. Delete it to begin anew.`);
  return left;
}

async function runNights(
  config: Config,
  nights: readonly Date[],
  shell: Shell,
  emit: Emit,
  say: (text: string) => void,
): Promise<SyncSummary[]> {
  const [first] = nights;
  if (first === undefined) return [];
  if (config.service.kind !== 'simulator') {
    throw new Failure('USAGE_INVALID', `The tour was given ${config.file}, which names a real service.`, {
      hint: 'Run `ripen demo` without --config, or `ripen sync` for your own service.',
    });
  }
  const world = await startWorld(config.service, first);
  try {
    const summaries: SyncSummary[] = [];
    for (const night of nights) {
      if (shell.signal.aborted) break;
      world.setNow(night);
      const summary = await connected(world.service, emit, async (service) =>
        sync(config, service, nightly(night), emit, shell.signal),
      );
      say(`== The night of ${night.toISOString()}\n\n${indented(summaryText(summary))}`);
      summaries.push(summary);
    }
    return summaries;
  } finally {
    await world.close();
  }
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

/** What the warehouse now holds, and what an analyst gets out of its published copy. */
async function showResult(config: Config, night: Date, emit: Emit, say: (text: string) => void): Promise<void> {
  const report: StatusReport = await statusOf(config, night, LOCK_WAIT_MS, emit);
  say(`== What is final, what moved\n\n${indented(statusText(report))}`);
  const copy = config.publish.find((target) => target.kind === 'duckdb');
  if (copy === undefined) return;
  say(`== An analyst asks ${copy.path}\n\n${indented(DEMO_QUESTION)}\n\n${indented(await demoAnswer(copy.path))}`);
}
