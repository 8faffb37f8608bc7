/**
 * Draws a slice's finality: a strip for the metrics that ripen alike, a rectangle for each stretch of periods in one state, of
 * which a year of forty metrics has only some 200.
 */

import {
  cellStates,
  type CellState,
  type MetricStatus,
  type SliceStatus,
} from '../status/status-report.ts';
import { countText, daysText, percentText } from '../../model/measure.ts';
import { alikeMetrics, cellLooks } from '../terminal/status-facts.ts';
import { percent } from './charts.ts';
import { html, legend, name, nothing } from './html.ts';

/** Readable at the width of a phone. */
const MAX_TICKS = 12;

const monthNames = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** More strips than fit the height of a screen add nothing. */
const MAX_STRIPS = 60;

export function finalityMap(slice: SliceStatus) {
  const total = slice.ages.length;
  if (total === 0 || slice.metrics.length === 0) return nothing;
  const alike = alikeMetrics(slice);
  const step = Math.ceil(alike.length / MAX_STRIPS);
  const strips = alike.filter((_, at) => at % step === 0);
  const { cells } = slice;
  const states = cellStates
    .filter((state) => cells[state] > 0)
    .map((state) => {
      const figure = percentText(cells[state], cells.expected);
      return { fill: classOf(state), word: cellLooks[state].word, figure };
    });
  return html`<figure class="map">
    <figcaption>
      Finality: ${countText(total, 'period')} ×
      ${countText(slice.metrics.length, 'metric')}${step === 1 ? '' : `, of which ${strips.length} are shown`},
      ${daysText(slice.ages[0]?.first_day ?? '', slice.ages.at(-1)?.last_day ?? '')}
    </figcaption>
    ${legend(states)}
    <table role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th role="columnheader" scope="col">metric</th>
          <th role="columnheader" scope="col" class="axis">
            <span class="unseen">periods</span><svg aria-hidden="true">${ticksOf(slice)}</svg>
          </th>
          <th role="columnheader" scope="col" class="number">final</th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${strips.map((metrics) => strip(metrics, total))}
      </tbody>
    </table>
  </figure>`;
}

function strip([first, ...others]: readonly [MetricStatus, ...MetricStatus[]], total: number) {
  const { spans, cells } = first;
  let from = 0;
  const labels: string[] = [];
  const stretches = spans.map(({ state, periods, first_day: start, last_day: last }) => {
    const [word, days, x] = [cellLooks[state].word, daysText(start, last), percent(from / total)];
    labels.push(`${word} ${days}`);
    from += periods;
    return html`<rect
      x="${x}"
      width="${percent(periods / total)}"
      height="100%"
      class="${classOf(state)}"
      ><title>${word}, ${days} (${countText(periods, 'period')})</title></rect
    >`;
  });
  const about = ({ metric, kind, horizon_days: days }: MetricStatus, more = '') => {
    const horizon = days === null ? 'never final' : `final after ${countText(days, 'day')}`;
    return html`${name(metric)} <b>${more}</b> <small>${kind === null ? '' : horizon}</small>`;
  };
  const names =
    others.length === 0
      ? about(first)
      : html`<details>
          <summary>${about(first, `+${others.length}`)}</summary>
          <ul>
            ${others.map((metric) => html`<li>${about(metric)}</li> `)}
          </ul>
        </details>`;
  return html`<tr role="row">
    <th role="rowheader" scope="row">${names}</th>
    <td role="cell">
      <svg class="strip" role="img" aria-label="${labels.join('; ')}">${stretches}</svg>
    </td>
    <td role="cell" class="number">${percentText(cells.final, total)}</td>
  </tr> `;
}

const classOf = (state: CellState) => state.replaceAll(' ', '-');

/** In months. Every step includes Januaries, whose ticks show the year. */
const TICK_STEPS = [1, 2, 3, 4, 6, 12, 24, 60, 120] as const;

function ticksOf({ ages }: SliceStatus) {
  // Months counted from January of the year 0.
  const months = ages.map(
    ({ first_day: day }) => 12 * Number(day.slice(0, 4)) + Number(day.slice(5, 7)) - 1,
  );
  const begins = [...months.entries()].filter(([at, month]) => at > 0 && month !== months[at - 1]);
  const chosen = TICK_STEPS.map((step) => begins.filter(([, month]) => month % step === 0));
  const ticks = chosen.find(({ length }) => length <= MAX_TICKS) ?? [];
  return ticks.map(([at, month]) => {
    const x = percent(at / ages.length);
    const label = month % 12 === 0 ? String(month / 12) : (monthNames[month % 12] ?? '');
    return html`<line x1="${x}" x2="${x}" y1="12" y2="100%" />
      <text x="${x}" y="10">${label}</text>`;
  });
}
