/** A status report for people; pure. */

import { pictureMarks, pictureOf } from '../status/picture.ts';
import type { RunStatus, SliceStatus, StatusReport } from '../status/status-report.ts';
import { countText, groupedText } from './measure.ts';
import { oneLine } from './printable.ts';
import { indented, tableText } from './table.ts';

/** Room for two months of days on a usual terminal. */
const PICTURE_COLUMNS = 62;
/** More would bury the slices; `--json` has them all. */
const SHOWN = 5;

/** The first group of a UUID tells runs apart. */
const RUN_ID_SHOWN = 8;

/** Slices with their pictures, then the last runs and what was odd in the newest. */
export function statusText(report: StatusReport): string {
  return [
    `${report.warehouse} as of ${report.as_of}`,
    '',
    ...report.slices.flatMap((slice) => [...sliceLines(slice), '']),
    `${pictureMarks.final} final  ${pictureMarks.maturing} maturing  ${pictureMarks.open} open  ${pictureMarks.missing} missing`,
    '',
    ...(report.runs.length === 0 ? ['no runs yet'] : [runsTable(report.runs)]),
    ...oddities(report),
  ].join('\n');
}

function sliceLines(slice: SliceStatus): string[] {
  const { periods } = slice;
  const first = slice.ages.at(0)?.first_day;
  const last = slice.ages.at(-1)?.last_day;
  const counts = `${periods.final} final, ${periods.maturing} maturing, ${periods.open} open, ${periods.missing} missing`;
  return [
    slice.newest_fetch_at === null
      ? `${slice.name}: never loaded, ${countText(periods.expected, 'period')} to load`
      : `${slice.name}: ${countText(slice.rows, 'row')}, newest period ${slice.newest_period ?? 'none with rows'}, fetched ${toSeconds(slice.newest_fetch_at)}`,
    `  ${pictureOf(slice.ages, PICTURE_COLUMNS)}`,
    `  ${first === undefined || last === undefined ? 'no period yet' : `${first} … ${last}: ${counts}`}`,
    ...(slice.building_periods === null
      ? []
      : [
          `  its meaning changed: ${countText(slice.building_periods, 'period')} of the new table loaded, the old one is served`,
        ]),
    ...restatedLines(slice),
  ];
}

function restatedLines(slice: SliceStatus): string[] {
  if (slice.restated.length === 0) return [];
  const shown = slice.restated
    .slice(0, SHOWN)
    .map((moved) => `${oneLine(moved.metric)} ${signed(moved.change)} in ${countText(moved.periods, 'period')}`);
  const more = slice.restated.length - shown.length;
  return [`  restated in 7 days: ${[...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ')}`];
}

/** An ISO instant without its milliseconds. */
function toSeconds(at: string): string {
  return at.replace(/\.\d+Z$/, 'Z');
}

function signed(change: number): string {
  return `${change > 0 ? '+' : ''}${groupedText(change)}`;
}

function runsTable(runs: readonly RunStatus[]): string {
  return tableText(
    [
      { title: 'run' },
      { title: 'command' },
      { title: 'as of' },
      { title: 'started' },
      { title: 'status' },
      { title: 'exit', align: 'right' },
    ],
    runs.map((run) => [
      run.run_id.slice(0, RUN_ID_SHOWN),
      run.command,
      toSeconds(run.as_of),
      toSeconds(run.started_at),
      run.status,
      run.exit_code === null ? '' : String(run.exit_code),
    ]),
  );
}

function oddities(report: StatusReport): string[] {
  const warnings = report.warnings.map(
    (warning) =>
      `${[warning.slice, warning.window, warning.code].filter((word) => word !== null).join(' ')}: ${oneLine(warning.message)}`,
  );
  const rejected = report.rejected_rows.map(
    (rows) => `${rows.slice} ${rows.window}: ${countText(rows.rows, 'row')}: ${oneLine(rows.reason)}`,
  );
  return [...section('warnings of the last run', warnings), ...section('rows rejected by the last run', rejected)];
}

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length - SHOWN;
  const shown = [...lines.slice(0, SHOWN), ...(more > 0 ? [`and ${more} more; see --json`] : [])];
  return ['', `${title}:`, indented(shown.join('\n'))];
}
