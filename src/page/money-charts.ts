/** What a slice spent and earned by period, the part that may still change hatched; pure. */

import type { MoneyMetric, SliceStatus } from '../status/status-report.ts';
import { amountText } from '../terminal/measure.ts';
import { barChart } from './charts.ts';
import { html, nothing, type Markup } from './html.ts';
import { legend } from './legend.ts';

/** Thinner bars cannot be told apart. */
const MOST_BARS = 150;

/** One chart for spend and one for revenue; nothing for a slice that has neither. */
export function moneyCharts({ money }: SliceStatus): Markup {
  const charts = money.filter(({ periods }) => periods.length > 0).map(moneyChart);
  return charts.length === 0 ? nothing : html`<div class="side-by-side">${charts}</div>`;
}

function moneyChart({ kind, metric, periods }: MoneyMetric): Markup {
  const together = Math.ceil(periods.length / MOST_BARS);
  const groups = Array.from({ length: Math.ceil(periods.length / together) }, (_, index) =>
    periods.slice(index * together, (index + 1) * together),
  );
  const bars = groups.map((group) => ({
    day: group.at(0)?.first_day ?? '',
    value: group.reduce((sum, { value }) => sum + (value ?? 0), 0),
    isFinal: group.every((period) => period.is_final),
  }));
  const totalOf = (isFinal: boolean): number =>
    periods.reduce((sum, period) => sum + (period.is_final === isFinal ? (period.value ?? 0) : 0), 0);
  const span = together === 1 ? 'period' : `${together} periods`;
  const title = `${kind === 'spend' ? 'Spend' : 'Revenue'} per ${span} (${metric})`;
  const colour = bars.map(({ isFinal }) => (isFinal ? '--series-1' : 'url(#hatch-money)'));
  const values = bars.map(({ value }) => value);
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${legend([
      { fill: 'money', word: 'final', figure: amountText(totalOf(true)) },
      { fill: 'money-maturing', word: 'still maturing', figure: amountText(totalOf(false)) },
    ])}
    ${barChart(
      title,
      bars.map(({ day }) => day.slice(5)),
      [{ colour, values }],
    )}
  </figure> `;
}
