/**
 * Charts as SVG in percentages, which fill any width while text and strokes keep their size. Chart libraries draw for one width.
 */

import type { MoneyPeriod } from '../status/status-report.ts';
import { html, type Markup } from './html.ts';

export interface Line {
  readonly colour: number;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly isDashed?: boolean;
}

export function lineChart(title: string, lines: readonly Line[]): Markup {
  const points = lines.flatMap((line) => line.points);
  const xs = points.map(([x]) => x);
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const [bottom, top, ticks] = scaleOf(points.map(([, y]) => y));
  const shareOf = (x: number) => (last === first ? 0.5 : (x - first) / (last - first));
  const path = ({ points: of }: Line) => {
    const places = of.map(([x, y]) => {
      const [left, down] = [100 * shareOf(x), 100 * (1 - (y - bottom) / (top - bottom))];
      return `${Number(left.toFixed(2))} ${Number(down.toFixed(2))}`;
    });
    return `M${places.join('L')}`;
  };
  const drawn = lines
    .filter((line) => line.points.length > 1)
    .map(
      (line) =>
        html`<path
          d="${path(line)}"
          class="series-${line.colour} ${line.isDashed === true ? 'dashed' : 'solid'}"
        /> `,
    );
  const inside = ticksOf(first, last, 2 * MAX_LABELS).filter(
    (x) => x >= first && x <= last && Number.isInteger(x),
  );
  return frame(
    title,
    ticks,
    inside.map((x) => ({ at: shareOf(x), label: String(x) })),
    html`<svg viewBox="0 0 100 100" preserveAspectRatio="none">${drawn}</svg>`,
  );
}

/** Draws gaps for periods without a value. `place` counts all periods from 0. `text` is shown beside the pointer. */
export function barChart(
  title: string,
  names: readonly string[],
  bars: readonly (MoneyPeriod & { readonly place: number; readonly text: string })[],
): Markup {
  const [bottom, top, ticks] = scaleOf(
    bars.flatMap(({ value, projected, low, high }) => [value, projected ?? 0, low ?? 0, high ?? 0]),
  );
  const down = (value: number) => (top - value) / (top - bottom);
  const room = 1 / names.length;
  const width = percent(room * BAR_WIDTH);
  const drawn = bars.map(({ place, text, value, is_final: isFinal, projected, low, high }) => {
    const [from, to] = [down(Math.max(0, value)), down(Math.min(0, value))];
    const x = percent(room * (place + (1 - BAR_WIDTH) / 2));
    const expected =
      projected === null || low === null || high === null
        ? ''
        : html`<rect
              x="${x}"
              y="${percent(down(projected))}"
              width="${width}"
              height="2"
              class="series-2"
            /><rect
              x="${percent(room * (place + 0.5))}"
              y="${percent(down(high))}"
              width="1"
              height="${percent(down(low) - down(high))}"
              class="series-2"
            />`;
    return html`<rect
        x="${x}"
        y="${percent(from)}"
        width="${width}"
        height="${percent(to - from)}"
        class="${isFinal ? 'final' : 'moving'}"
        ><title>${text}</title></rect
      >${expected}`;
  });
  const step = Math.ceil(names.length / MAX_LABELS);
  // Counted from the newest, which is the one to be named.
  const labels = names
    .map((label, at) => ({ at: room * (at + 0.5), label }))
    .filter((_, at) => (names.length - 1 - at) % step === 0);
  return frame(title, ticks, labels, drawn);
}

/** As many dates as a phone has room for; of ages twice as many. */
const MAX_LABELS = 6;
/** Of the room of a period. */
const BAR_WIDTH = 0.8;

/** Two decimals are finer than a fifth of a pixel on the widest screen. */
export const percent = (share: number): string => `${Number((100 * share).toFixed(2))}%`;

interface Tick {
  readonly at: number;
  readonly label: string;
}

function frame(
  title: string,
  ticks: readonly Tick[],
  below: readonly Tick[],
  marks: Markup | readonly Markup[],
) {
  const rules = ticks.map(({ at, label }) => {
    const y = percent(at);
    return html`<line x2="100%" y1="${y}" y2="${y}" /><text x="-8" y="${y}" dy="4">${label}</text>`;
  });
  const labels = below.map(
    ({ at, label }) =>
      html`<text x="${percent(at)}" y="100%" dy="18" class="below">${label}</text>`,
  );
  return html`<svg class="chart" role="img" aria-label="${title}">${rules}${marks}${labels}</svg>`;
}

/** Returns the ends of an axis that has all values and 0, and its ticks from the top down. */
function scaleOf(values: readonly number[]): [bottom: number, top: number, ticks: Tick[]] {
  const ticks = ticksOf(Math.min(0, ...values), Math.max(0, ...values), MAX_RULES);
  const [bottom = 0, top = 1] = [ticks[0], ticks.at(-1)];
  const drawn = ticks.map((value) => ({
    at: (top - value) / (top - bottom),
    label: value.toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 3 }),
  }));
  return [bottom, top, drawn];
}

const MAX_RULES = 4;

/** Round numbers a step apart, the first at most `low` and the last at least `high`. */
function ticksOf(low: number, high: number, most: number) {
  const rough = (high - low || 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5].map((part) => part * power).find((size) => size >= rough);
  const each = step ?? 10 * power;
  const first = Math.floor(low / each);
  const count = Math.max(1, Math.ceil(high / each) - first);
  return Array.from({ length: count + 1 }, (_, at) => (first + at) * each);
}
