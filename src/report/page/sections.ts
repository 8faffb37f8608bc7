/** The sections of the status page: its banner, tables and charts, from the same facts as the text; pure. */

import type {
  CohortCurve,
  Health,
  HealthState,
  MoneySeries,
  RunStatus,
  SliceStatus,
  StatusReport,
} from '../status/status-report.ts';
import {
  amountText,
  countText,
  groupedText,
  minuteText,
  percentText,
} from '../terminal/measure.ts';
import {
  agreementOf,
  agreementText,
  backtestTable,
  dictionaryTable,
  horizonsTable,
  maturationTable,
  movedTable,
  restatedTable,
  sliceFacts,
  unknownMaturation,
  type FactTable,
} from '../terminal/status-facts.ts';
import { barChart, lineChart } from './charts.ts';
import { finalityMap } from './finality-map.ts';
import { html, legend, type Markup, name, nothing } from './html.ts';
import { columnsOf } from '../terminal/table.ts';

/** As many lines as can be distinguished; the table has the other metrics. */
const MAX_LINES = 4;
/** More findings or restatements hide what follows; they open on a click. */
const MAX_LISTED = 5;
/** A page of 120 slices has to open in a second; `--json` has all. */
const MAX_ROWS = 40;

/** A sign beside the colour, for people who cannot distinguish colours. */
const healthSigns: Readonly<Record<HealthState, string>> = { well: '✓', watch: '!', failed: '✕' };

/** Returns the figures to look at first, each with what it counts. */
export function figures({ slices }: StatusReport): Markup {
  const agreement = agreementOf(slices);
  const others = slices.filter(({ control }) => control === null).length;
  const without = others === 0 ? '' : `; ${countText(others, 'slice')} without control totals`;
  const cells = slices.reduce((sum, slice) => sum + slice.cells.expected, 0);
  const final = slices.reduce((sum, slice) => sum + slice.cells.final, 0);
  const newest = slices.flatMap((slice) => slice.newest_period ?? []).toSorted();
  const metrics = slices.reduce((sum, slice) => sum + slice.metrics.length, 0);
  const restated = slices.reduce((sum, slice) => sum + slice.restated.length, 0);
  const shown: (readonly [figure: string, meaning: string])[] = [
    agreement === null
      ? ['–', 'not known yet: no control totals to compare with the service']
      : [
          `${groupedText(agreement.totals - agreement.moved)} of ${groupedText(agreement.totals)}`,
          `totals agree with the service, ${minuteText(agreement.read_at)}${without}`,
        ],
    [percentText(final, cells), `of ${countText(cells, 'value')} final`],
    [newest.at(-1) ?? '–', 'newest period with rows'],
    [groupedText(restated), `of ${countText(metrics, 'metric')} restated in 7 days`],
  ];
  return html`<dl class="figures">
    ${shown.map(
      ([figure, meaning]) =>
        html`<div>
          <dt>${meaning}</dt>
          <dd>${figure}</dd>
        </div> `,
    )}
  </dl>`;
}

/** Lists the audits of the newest run that failed, or that wait for a slice. */
export function auditSection([newest]: readonly RunStatus[]): Markup {
  if (newest === undefined || newest.audits.length === 0) return nothing;
  return html`<section aria-labelledby="audits">
    <h2 id="audits">Audits</h2>
    ${newest.audits.map(({ name: audit, on_fail: onFail, rows, first, reason }) => {
      const isHeld = newest.failures.some(
        (failure) => failure.code === 'AUDIT_HELD' && failure.published_later !== true,
      );
      const held = isHeld ? 'holds the night back' : 'held the night back, published later';
      const end = rows === 0 ? 'waits' : onFail === 'hold' ? held : 'warns';
      const columns = [...new Set(first.flatMap((row) => Object.keys(row)))];
      return html`<h3>${name(audit)}: ${end}</h3>
        ${note(reason ?? `${countText(rows ?? 0, 'row')}${(rows ?? 0) > first.length ? `, the first ${first.length}:` : ''}`)}
        ${factTable(
          {
            title: `Rows of ${audit}`,
            columns: columns.map((title) => ({ title })),
            rows: first.map((row) => columns.map((column) => row[column] ?? '')),
          },
          'facts',
        )}`;
    })}
  </section>`;
}

export function healthBanner({ state, headline, findings }: Health): Markup {
  const others = findings.slice(MAX_LISTED);
  const more = html`<details>
    <summary>and ${others.length} more</summary>
    ${listOf(others)}
  </details>`;
  return html`<div class="health ${state}">
    <p><span class="sign" aria-hidden="true">${healthSigns[state]}</span>${headline}</p>
    ${listOf(findings.slice(0, MAX_LISTED))} ${others.length === 0 ? nothing : more}
  </div> `;
}

function listOf(items: Health['findings']): Markup {
  if (items.length === 0) return nothing;
  return html`<ul>
    ${items.map(
      ({ message, hint }) =>
        html`<li>
          ${message}${hint === null ? nothing : html`<span class="hint">${hint}</span>`}
        </li> `,
    )}
  </ul>`;
}

/** Returns a table of facts. `cells` returns other content for a cell, or null to keep it. `kind` names it in the style sheet. */
export function factTable(
  { title = '', columns, rows }: FactTable,
  kind: string,
  cells: (row: number, column: number) => Markup | null = () => null,
): Markup {
  if (rows.length === 0) return nothing;
  const classes = columns.map(({ align, shrinks = false }) =>
    align === 'right' ? 'number' : shrinks ? 'long' : 'word',
  );
  // Only facts may be wider than a phone, and a keyboard scrolls only what it can reach. What opens them has their title.
  const isFacts = kind === 'facts';
  const reach = isFacts ? html`tabindex="0" role="group" aria-label="${title}"` : nothing;
  const caption = html`<caption>
    ${title}
  </caption>`;
  return html`<div class="scroll" ${reach}>
    <table class="${kind}">
      ${isFacts || title === '' ? nothing : caption}
      <thead>
        <tr>
          ${columns.map((column, at) => html`<th scope="col" class="${classes[at] ?? ''}">${column.title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first = '', ...others], row) =>
            html`<tr>
              <th scope="row">${cells(row, 0) ?? name(first)}</th>
              ${others.map((cell, at) => html`<td class="${classes[at + 1] ?? ''}">${cells(row, at + 1) ?? cell}</td>`)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}

function folded(table: FactTable): Markup {
  const { title = '', rows } = table;
  if (rows.length === 0) return nothing;
  const more = rows.length - MAX_ROWS;
  return html`<details>
    <summary>${title}</summary>
    ${factTable({ ...table, rows: rows.slice(0, MAX_ROWS) }, 'facts')}
    ${more > 0 ? note(`and ${more} more; see --json`) : nothing}
  </details>`;
}

const note = (text: string): Markup => html`<p class="note">${text}</p>`;

export function failureLists(runs: readonly RunStatus[]): Markup[] {
  return runs
    .filter(({ failures }) => failures.length > 0)
    .map(
      ({ as_of: asOf, failures }) =>
        html`<details>
          <summary>Failures as of ${asOf}</summary>
          ${listOf(
            failures.map(({ code, slice, window, message, hint, published_later: isPast }) => {
              const place = [slice, window].filter((word) => word !== null).join(' ');
              const text = `${code}${place === '' ? '' : ` (${place})`}: ${message}`;
              return isPast === true
                ? { message: `${text} (published later)`, hint: null }
                : { message: text, hint };
            }),
          )}
        </details>`,
    );
}

/** `moneyIsAbove` says that the page shows its spend and revenue already. */
export function sliceSection(slice: SliceStatus, asOf: string, moneyIsAbove: boolean): Markup {
  const isLoaded = slice.newest_fetch_at !== null;
  return html`<section aria-labelledby="slice-${slice.name}">
    <h2 id="slice-${slice.name}">${slice.name}</h2>
    ${sliceFacts(slice, asOf).map(note)} ${moneyIsAbove ? nothing : moneyCharts(slice, '')}
    ${finalityMap(slice)} ${isLoaded ? loaded(slice) : nothing} ${folded(dictionaryTable(slice))}
  </section> `;
}

function loaded(slice: SliceStatus): Markup {
  const restated = restatedTable(slice);
  const more = restated.rows.slice(MAX_LISTED);
  return html`${agreementText(slice).map(note)}
    ${factTable({ ...restated, rows: restated.rows.slice(0, MAX_LISTED) }, 'restated')}
    ${folded({ ...restated, title: `and ${countText(more.length, 'more metric')}`, rows: more })}
    <div class="side-by-side">${slice.curves.map(curveChart)}</div>
    ${maturationChart(slice.maturation)} ${unknownMaturation(slice).map(note)}
    ${folded(movedTable(slice))} ${folded(maturationTable(slice))} ${folded(horizonsTable(slice))}
    ${folded(backtestTable(slice))}`;
}

function figure(title: string, ...content: readonly Markup[]): Markup {
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${content}
  </figure> `;
}

/** Draws spend and revenue by period, with a table of what may still change. Absent for a slice without money. */
export function moneyCharts({ money, ages }: SliceStatus, of: string): Markup {
  if (money.length === 0) return nothing;
  const grain = grainOf(ages);
  return html`<div class="side-by-side">${money.map((series) => moneyChart(series, of, ages))}</div>
    ${folded(moneyTable(money, grain))}`;
}

const grainOf = (ages: SliceStatus['ages']): 'day' | 'period' =>
  ages.every((period) => period.first_day === period.last_day) ? 'day' : 'period';

function moneyChart(
  { flow, metric, currency, periods }: MoneySeries,
  of: string,
  ages: SliceStatus['ages'],
): Markup {
  const grain = grainOf(ages);
  const title = `${flow === 'spend' ? 'Spend' : 'Revenue'} by ${grain}: ${metric}${of}, ${currency ?? "the account's currency"}`;
  const sumOf = (
    shown: MoneySeries['periods'],
    valueOf: (period: MoneySeries['periods'][number]) => number,
  ): number => shown.reduce((sum, period) => sum + valueOf(period), 0);
  const final = periods.filter((period) => period.is_final);
  const moving = periods.filter((period) => !period.is_final);
  const projected = moving.filter((period) => period.projected !== null);
  const growth = sumOf(projected, ({ value, projected: expected }) => (expected ?? value) - value);
  const entries = [
    { fill: 'final', word: 'final', figure: amountText(sumOf(final, ({ value }) => value)) },
    {
      fill: 'moving',
      word: 'may still change',
      figure: amountText(sumOf(moving, ({ value }) => value)),
    },
    {
      fill: 'series-2',
      word: 'projected, with 80 % interval',
      figure: amountText(growth, 'signed'),
    },
  ];
  const shownDays = periods.map(({ first_day: day }) => day);
  const [since = ''] = shownDays;
  const days = [...new Set([...shownDays, ...ages.map(({ first_day: day }) => day)])]
    .filter((day) => day >= since)
    .toSorted();
  const names = days.map((day) => (grain === 'day' ? day.slice(5) : day));
  const bars = periods.map((period) => {
    const { first_day: day, value, is_final: isFinal } = period;
    const expected = projectionText(period);
    const text = `${day}: ${amountText(value)}, ${isFinal ? 'final' : 'may still change'}`;
    return {
      ...period,
      isFinal,
      at: days.indexOf(day),
      text: expected === '' ? text : `${text}; projected ${expected}`,
    };
  });
  const shown = entries.slice(0, projected.length > 0 ? 3 : moving.length > 0 ? 2 : 1);
  return figure(title, legend(shown), barChart(title, names, bars));
}

/** `1,400 (1,300 … 1,500)`. */
function projectionText({ projected, low, high }: MoneySeries['periods'][number]): string {
  return projected === null || low === null || high === null
    ? ''
    : `${amountText(projected)} (${amountText(low)} … ${amountText(high)})`;
}

/** Newest first. */
function moneyTable(money: readonly MoneySeries[], grain: string): FactTable {
  const moving = money.flatMap(({ periods }) => periods.filter((period) => !period.is_final));
  const days = [...new Set(moving.map((period) => period.first_day))].toSorted().toReversed();
  return {
    title: 'What may still change, and what to expect',
    columns: columnsOf(grain, ...money.flatMap(({ metric }) => [`#${metric}`, '#projected'])),
    rows: days.map((day) =>
      [day].concat(
        money.flatMap(({ periods }) => {
          const period = periods.find(({ first_day: at }) => at === day);
          if (period === undefined) return ['', ''];
          return [amountText(period.value), period.is_final ? 'final' : projectionText(period)];
        }),
      ),
    ),
  };
}

/** Draws a line for each month, dashed from the first age at which not all of it is final. */
function curveChart({ cohort, points }: CohortCurve): Markup {
  const months = [...new Set(points.map(({ month }) => month))];
  const lines = months.flatMap((month, index) => {
    const ofMonth = points.filter((point) => point.month === month);
    const open = ofMonth.findIndex((point) => !point.is_final);
    const firstOpen = open === -1 ? ofMonth.length : open;
    const colour = index + 1;
    const shown = (some: typeof ofMonth) =>
      some.map(({ age_days: age, value }) => [age, value] as const);
    return [
      { colour, points: shown(ofMonth.slice(0, firstOpen)) },
      {
        colour,
        points: open === -1 ? [] : shown(ofMonth.slice(Math.max(0, open - 1))),
        isDashed: true,
      },
    ];
  });
  const title = `${cohort} by age in days, a line for each month; dashed where it is not final`;
  const entries = months.map((month, index) => {
    const last = points.findLast((point) => point.month === month);
    return { fill: `series-${index + 1}`, word: month, figure: amountText(last?.value ?? 0) };
  });
  return figure(title, legend(entries), lineChart(title, lines));
}

/** Draws the medians of the slowest metrics. */
function maturationChart(maturation: SliceStatus['maturation']): Markup {
  if (maturation.length === 0) return nothing;
  const oldest = Math.max(...maturation.map(({ age_days: age }) => age));
  const curves = new Map<string, (readonly [age: number, percent: number])[]>();
  for (const { metric, age_days: age, share_median: share } of maturation) {
    const curve = curves.get(metric) ?? [];
    curves.set(metric, curve);
    curve.push([age, Math.round(1000 * share) / 10]);
  }
  const missing = ([, curve]: readonly [string, readonly (readonly number[])[]]): number =>
    curve.reduce((sum, [, percent = 0]) => sum + 100 - percent, 0);
  // Metrics that ripen alike share a line, as they do in the picture of finality.
  const alike = new Map<string, number>();
  const slowest = [...curves]
    .toSorted((one, other) => missing(other) - missing(one))
    .filter(([, curve]) => {
      const count = alike.get(curve.join()) ?? 0;
      alike.set(curve.join(), count + 1);
      return count === 0;
    })
    .slice(0, MAX_LINES);
  const lines = slowest.map(([, curve], index) => {
    const [last = 0] = curve.at(-1) ?? [];
    // At the next age a metric's total was final, that is 100 %; nothing is known before its first age.
    const rest = last < oldest ? [last + 1, oldest].map((age) => [age, 100] as const) : [];
    return { colour: index + 1, points: [...curve, ...rest] };
  });
  const title = 'Known of the final total by age in days: the median in percent';
  const entries = slowest.map(([metric, curve], index) => {
    const [[age, share] = [0, 0]] = curve;
    const others = (alike.get(curve.join()) ?? 1) - 1;
    const word = others === 0 ? metric : `${metric} +${others}`;
    return { fill: `series-${index + 1}`, word, figure: `${share} % at ${age}` };
  });
  return figure(title, legend(entries), lineChart(title, lines));
}
