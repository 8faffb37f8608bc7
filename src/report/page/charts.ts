/**
 * The pictures of a slice, as SVG in percentages, which fill any width while text and strokes keep their size. Chart libraries draw
 * for one width.
 */

import { alike } from '../../model/alike.ts';
import { amountText, sumOf } from '../../model/measure.ts';
import type { MoneyPeriod, MoneySeries, SliceStatus } from '../status/status-report.ts';
import { MATURATION_TITLE } from '../terminal/status-facts.ts';
import type { Table } from '../terminal/table.ts';
import { html, legend, type Markup, nothing } from './html.ts';

/** As many lines as can be distinguished; the table has the other metrics. */
const MAX_LINES = 4;

function figure(title: string, entries: Parameters<typeof legend>[0], chart: Markup) {
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${legend(entries)}${chart}
  </figure> `;
}

const grainOf = ({ ages }: SliceStatus): 'day' | 'period' =>
  ages.every((period) => period.first_day === period.last_day) ? 'day' : 'period';

/** `of` ends the titles. */
export function moneyCharts(slice: SliceStatus, of: string): Markup[] {
  const grain = grainOf(slice);
  return slice.money.map(({ flow, metric, currency, periods }) => {
    const title = `${flow === 'spend' ? 'Spend' : 'Revenue'} by ${grain}: ${metric}${of}, ${currency ?? "the account's currency"}`;
    const final = periods.filter((period) => period.is_final);
    const moving = periods.filter((period) => !period.is_final);
    const totalText = (shown: MoneySeries['periods']) =>
      amountText(sumOf(shown.map(({ value }) => value)));
    const entries = [{ fill: 'final', word: 'final', figure: totalText(final) }];
    if (moving.length > 0)
      entries.push({ fill: 'moving', word: 'may still change', figure: totalText(moving) });
    if (moving.some((period) => period.projected !== null)) {
      const growth = sumOf(moving.map(({ value, projected }) => (projected ?? value) - value));
      const figure = amountText(growth, 'signed');
      entries.push({ fill: 'series-2', word: 'projected, with 80 % interval', figure });
    }
    const since = periods[0]?.first_day ?? '';
    // A bucket that the date period cuts begins before its first day that is requested.
    const starts = slice.ages.map(({ first_day: day, last_day: last }, at) => {
      const before = slice.ages[at - 1]?.last_day ?? '';
      return (
        periods.find(({ first_day: start }) => start > before && start <= last)?.first_day ?? day
      );
    });
    const days = [...new Set([...periods.map((period) => period.first_day), ...starts])]
      .filter((day) => day >= since)
      .toSorted();
    const bars = periods.map((period) => {
      const { first_day: day, value, is_final: isFinal } = period;
      const projection = projectionText(period);
      let text = `${day}: ${amountText(value)}, ${isFinal ? 'final' : 'may still change'}`;
      if (projection !== '') text += `; projected ${projection}`;
      return { ...period, place: days.indexOf(day), text };
    });
    const labels = days.map((day) => (grain === 'day' ? day.slice(5) : day));
    return figure(title, entries, barChart(title, labels, bars));
  });
}

const projectionText = ({ projected, low, high }: MoneyPeriod) =>
  projected === null || low === null || high === null
    ? ''
    : `${amountText(projected)} (${amountText(low)} … ${amountText(high)})`;

export function moneyTable(slice: SliceStatus): Table {
  const { money } = slice;
  const moving = money.flatMap(({ periods }) => periods.filter((period) => !period.is_final));
  const days = [...new Set(moving.map((period) => period.first_day))].toSorted().toReversed();
  const rows = days.map((day) => {
    const cells = money.flatMap(({ periods }) => {
      const period = periods.find(({ first_day: at }) => at === day);
      if (period === undefined) return ['', ''];
      return [amountText(period.value), period.is_final ? 'final' : projectionText(period)];
    });
    return [day].concat(cells);
  });
  const columns = [grainOf(slice), ...money.flatMap(({ metric }) => [`#${metric}`, '#projected'])];
  return { title: 'What may still change, and what to expect', columns, rows };
}

export function curveCharts({ curves }: SliceStatus): Markup[] {
  return curves.map(({ cohort, points }) => {
    const months = alike(points, ({ month }) => month);
    const lines = months.flatMap((ofMonth, index): Line[] => {
      const firstOpen = ofMonth.findIndex((point) => !point.is_final);
      const points = ofMonth.map(({ age_days: age, value }) => [age, value] as const);
      const colour = index + 1;
      if (firstOpen === -1) return [{ colour, points }];
      const open = points.slice(Math.max(0, firstOpen - 1));
      return [
        { colour, points: points.slice(0, firstOpen) },
        { colour, points: open, isDashed: true },
      ];
    });
    const title = `${cohort} by age in days, a line for each month; dashed where it is not final`;
    const entries = months.map((ofMonth, index) => ({
      fill: `series-${index + 1}`,
      word: ofMonth[0].month,
      figure: amountText(ofMonth.at(-1)?.value ?? 0),
    }));
    return figure(title, entries, lineChart(title, lines));
  });
}

export function maturationChart({ maturation }: SliceStatus): Markup {
  if (maturation.length === 0) return nothing;
  const oldest = Math.max(...maturation.map(({ age_days: age }) => age));
  const curves = alike(maturation, ({ metric }) => metric).map((shares) => {
    const points = shares.map(
      ({ age_days: age, share_median: share }) => [age, Math.round(1000 * share) / 10] as const,
    );
    const missing = sumOf(points.map(([, share]) => 100 - share));
    return { metric: shares[0].metric, points, missing };
  });
  const slowest = alike(
    curves.toSorted((one, other) => other.missing - one.missing),
    ({ points }) => points.join(),
  ).slice(0, MAX_LINES);
  const lines = slowest.map(([{ points }], index): Line => {
    const [last = 0] = points.at(-1) ?? [];
    // At the next age a metric's total was final, that is 100 %; nothing is known before its first age.
    const rest = last < oldest ? [last + 1, oldest].map((age) => [age, 100] as const) : [];
    return { colour: index + 1, points: [...points, ...rest] };
  });
  const entries = slowest.map(([{ metric, points }, ...others], index) => {
    const [[age, share] = [0, 0]] = points;
    const word = others.length === 0 ? metric : `${metric} +${others.length}`;
    return { fill: `series-${index + 1}`, word, figure: `${share} % at ${age}` };
  });
  return figure(MATURATION_TITLE, entries, lineChart(MATURATION_TITLE, lines));
}

interface Line {
  readonly colour: number;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly isDashed?: boolean;
}

function lineChart(title: string, lines: readonly Line[]) {
  const points = lines.flatMap((line) => line.points);
  const xs = points.map(([x]) => x);
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const [bottom, top, ticks] = scaleOf(points.map(([, y]) => y));
  const shareOf = (x: number) => (last === first ? 0.5 : (x - first) / (last - first));
  const drawn = lines
    .filter((line) => line.points.length > 1)
    .map(({ points: ofLine, colour, isDashed = false }) => {
      const places = ofLine.map(
        ([x, y]) => `${rounded(100 * shareOf(x))} ${rounded((100 * (top - y)) / (top - bottom))}`,
      );
      return html`<path
        d="M${places.join('L')}"
        class="series-${colour} ${isDashed ? 'dashed' : 'solid'}"
      /> `;
    });
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
function barChart(
  title: string,
  names: readonly string[],
  bars: readonly (MoneyPeriod & { readonly place: number; readonly text: string })[],
) {
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
const rounded = (size: number) => Number(size.toFixed(2));
export const percent = (share: number): string => `${rounded(100 * share)}%`;

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
  const parts = [1, 2, 2.5, 5, 10];
  const step = power * (parts.find((part) => part * power >= rough) ?? 10);
  const first = Math.floor(low / step);
  const count = Math.max(1, Math.ceil(high / step) - first);
  return Array.from({ length: count + 1 }, (_, at) => (first + at) * step);
}
