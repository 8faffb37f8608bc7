/** The last runs on the status page, and what was odd in the newest; pure. */

import type { RunStatus, StatusReport } from '../status/status-report.ts';
import { countText, elapsedText, groupedText, minuteText, runText } from '../terminal/measure.ts';
import { barChart } from './charts.ts';
import { heading, html, type Markup, nothing, numberCell, numberHeading, table } from './html.ts';

const MS_PER_SECOND = 1000;
const MS_PER_MINUTE = 60_000;
/** From here on minutes are easier to read. */
const SECONDS_UNTIL_MS = 300_000;

const runHeadings = [
  ...['as of', 'command', 'status'].map(heading),
  ...['took', 'rows', 'requests', 'retries'].map(numberHeading),
  heading('run'),
];

/** How long the runs took, as bars, and each run with its failures. */
export function runsSection(runs: readonly RunStatus[]): Markup {
  if (runs.length === 0) return nothing;
  return html`<section aria-labelledby="runs">
    <h2 id="runs">Last runs</h2>
    ${durations(runs)} ${table(runHeadings, runs.map(runRows), { kind: 'runs' })}
  </section> `;
}

/** When the next sync is to be expected, by the usual pause between the last ones; nothing before there were two. */
export function nextRun(runs: readonly RunStatus[]): Markup {
  const starts = runs.filter(({ command }) => command === 'sync').map(({ as_of: asOf }) => Date.parse(asOf));
  const pauses = starts.slice(1).map((start, index) => (starts[index] ?? start) - start);
  const usual = pauses.toSorted((one, other) => one - other)[Math.floor(pauses.length / 2)];
  const [newest] = starts;
  if (usual === undefined || newest === undefined || usual <= 0) return nothing;
  return html`<p class="note">next run expected about ${minuteText(new Date(newest + usual).toISOString())}</p>`;
}

function durations(runs: readonly RunStatus[]): Markup {
  const ended = runs.filter((run) => run.finished_at !== null).toReversed();
  if (ended.length < 2) return nothing;
  const longestMs = Math.max(...ended.map(durationMs));
  const [unit, unitMs] = longestMs > SECONDS_UNTIL_MS ? ['Minutes', MS_PER_MINUTE] : ['Seconds', MS_PER_SECOND];
  const title = `${unit} the last ${ended.length} runs took, at most ${elapsedText(longestMs)}`;
  const values = ended.map((run) => Number((durationMs(run) / unitMs).toFixed(1)));
  const series = { colour: ended.map(({ status }) => colours[status] ?? '--bad'), values };
  const labels = ended.map((run) => run.as_of.slice(5, 10));
  return html`<figure class="durations">
    <figcaption>${title}</figcaption>
    ${barChart(title, labels, [series])}
  </figure>`;
}

/** Of the bars, by the status of the run; any other is bad. */
const colours: Readonly<Record<string, string>> = {
  succeeded: '--series-1',
  partial: '--warn',
  interrupted: '--warn',
};

function durationMs({ started_at: start, finished_at: end }: RunStatus): number {
  return end === null ? 0 : Date.parse(end) - Date.parse(start);
}

function runRows(run: RunStatus): Markup {
  const failures = run.failures.map(
    ({ code, slice, window, message, hint }) =>
      html`<li>
        <code>${code}</code> ${[slice, window].filter((word) => word !== null).join(' ')}
        ${message}${hint === null ? nothing : html`<span class="hint">${hint}</span>`}
      </li>`,
  );
  return html`<tr>
      <th scope="row">${minuteText(run.as_of)}</th>
      <td>${run.command}</td>
      <td>${statusMark(run)}</td>
      ${numberCell(run.finished_at === null ? '' : elapsedText(durationMs(run)))}
      ${numberCell(countOrNone(run.rows_loaded))} ${numberCell(countOrNone(run.requests))}
      ${numberCell(countOrNone(run.retries))}
      <td><code>${runText(run.run_id)}</code></td>
    </tr>
    ${
      failures.length === 0
        ? nothing
        : html`<tr class="failures">
            <td colspan="8">
              <ul>
                ${failures}
              </ul>
            </td>
          </tr> `
    }`;
}

function statusMark({ status, exit_code: exitCode }: RunStatus): Markup {
  const word = status === 'running' ? 'did not finish' : status;
  const state = word === 'succeeded' ? 'well' : word === 'partial' || word === 'interrupted' ? 'watch' : 'failed';
  const exit = exitCode === null || exitCode === 0 ? nothing : html` (exit ${exitCode})`;
  return html`<span class="state ${state}">${word}</span>${exit}`;
}

function countOrNone(count: number | null): string {
  return count === null ? '' : groupedText(count);
}

/** Warnings and rejected rows of the newest run; nothing when there were none. */
export function odditiesSection({ warnings, rejected_rows: rejected }: StatusReport): Markup {
  if (warnings.length + rejected.length === 0) return nothing;
  const rows = [
    ...warnings.map(
      ({ code, slice, window, message }) =>
        html`<tr>
          <th scope="row"><code>${code}</code></th>
          <td>${slice ?? ''}</td>
          <td>${window ?? ''}</td>
          <td>${message}</td>
        </tr> `,
    ),
    ...rejected.map(
      ({ slice, window, reason, rows: count }) =>
        html`<tr>
          <th scope="row">rejected</th>
          <td>${slice}</td>
          <td>${window}</td>
          <td>${countText(count, 'row')}: ${reason}</td>
        </tr> `,
    ),
  ];
  return html`<section aria-labelledby="odd">
    <h2 id="odd">What was odd in the last run</h2>
    ${table(['code', 'slice', 'window', 'what'].map(heading), rows, { kind: 'odd' })}
  </section> `;
}
