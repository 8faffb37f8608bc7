/** How a slice ripens, as a picture and two tables on the status page; pure. */

import type { MaturationAge, SliceStatus } from '../status/status-report.ts';
import { groupedText, percentText } from '../terminal/measure.ts';
import { auditText, projectedText, unknownMaturation } from '../terminal/ripening-text.ts';
import { lineChart } from './charts.ts';
import { foldedTable, heading, html, legend, type Markup, name, nothing, numberCell, numberHeading } from './html.ts';

/** As many lines as can be told apart; the table has the other metrics. */
const MOST_LINES = 4;

/** The medians as lines by age, the quartiles and the backtest as tables; sentences on audits, and on what is not known yet. */
export function maturationSection(slice: SliceStatus): Markup {
  const audits = auditText(slice).map((text) => html`<p class="note">${text}.</p>`);
  const unknown = unknownMaturation(slice).map(
    (reason) => html`<p class="note">How its values mature is not known yet: ${reason}.</p>`,
  );
  if (slice.maturation.length === 0) return html`${unknown} ${audits}`;
  return html`${picture(slice.maturation)} ${unknown} ${audits} ${quartiles(slice.maturation)} ${backtest(slice)}`;
}

function picture(maturation: readonly MaturationAge[]): Markup {
  const ages = [...new Set(maturation.map(({ age_days: age }) => age))].sort((a, b) => a - b);
  const metrics = [...new Set(maturation.map(({ metric }) => metric))].slice(0, MOST_LINES);
  const lines = metrics.map((metric, index) => ({
    name: metric,
    colour: `--series-${index + 1}`,
    values: ages.map((age) => {
      const found = maturation.find((each) => each.metric === metric && each.age_days === age);
      return found === undefined ? 100 : Math.round(1000 * found.share_median) / 10;
    }),
  }));
  const title = `How much of the final total is known by age in days: the median in percent`;
  const entries = lines.map(({ name: word, values }, index) => ({
    fill: `series-${index + 1}`,
    word,
    figure: `${values[0] ?? 0} % at ${ages[0] ?? 0}`,
  }));
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${legend(entries)} ${lineChart(title, ages.map(String), lines)}
  </figure>`;
}

function quartiles(maturation: readonly MaturationAge[]): Markup {
  const rows = maturation.map((age) => {
    const shares = [age.share_q25, age.share_median, age.share_q75].map((share) => percentText(share, 1));
    return row(age.metric, [String(age.age_days), groupedText(age.periods), ...shares]);
  });
  return foldedTable(
    'Known of the final total by age, in quartiles',
    headings(['age', 'periods', 'a quarter below', 'half below', 'three quarters below']),
    rows,
  );
}

function backtest({ backtest: ages }: SliceStatus): Markup {
  if (ages.length === 0) return nothing;
  const share = (of: number | null): string => (of === null ? '' : percentText(of, 1));
  const rows = ages.map((age) =>
    row(age.metric, [
      String(age.age_days),
      groupedText(age.cohorts),
      share(age.median_abs_error),
      share(age.median_abs_error_as_is),
      share(age.coverage),
      projectedText(age),
    ]),
  );
  return foldedTable(
    'Projections put to the test: median error against what became final',
    headings(['age', 'periods', 'projected', 'as is', 'in the 80 % interval', '']),
    rows,
  );
}

function row(metric: string, cells: readonly string[]): Markup {
  return html`<tr>
    <th scope="row">${name(metric)}</th>
    ${cells.map(numberCell)}
  </tr> `;
}

function headings(columns: readonly string[]): Markup[] {
  return [heading('metric'), ...columns.map(numberHeading)];
}
