/**
 * Lines as SVG, drawn by ECharts without a browser; the only place that knows it.
 *
 * What comes out loads nothing and carries no style of its own: colours are the page's variables, so that light and
 * dark are the page's choice, and a policy that allows the page's one style sheet alone is kept.
 */

import { LineChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { init, use, type EChartsCoreOption } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

import { html, Markup } from './html.ts';

/** In the units of the picture, which is scaled to its place: two stand beside each other, and one fills a phone. */
const WIDTH = 480;
const HEIGHT = 190;
/** What room is left for; letters are a little smaller (the style sheet), as fonts differ in width. */
const FONT_SIZE = 13;

use([LineChart, GridComponent, SVGRenderer]);

/** A value for each label; null where nothing is known: a line begins after it. */
export interface Series {
  /** One of the page's colours, such as `--series-1`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  /** Whether a line is dashed. */
  readonly isDashed?: boolean;
}

/** A line for each series over the labels; what their colours mean, a legend says. */
export function lineChart(title: string, labels: readonly string[], all: readonly Series[]): Markup {
  const series = all.map(({ colour, values: data, isDashed = false }) => {
    const lineStyle = { color: `var(${colour})`, width: 2, type: isDashed ? 'dashed' : 'solid' };
    return { type: 'line', symbol: 'none', silent: true, lineStyle, data };
  });
  return drawn(title, { ...frame(labels), series });
}

/** Axes and grid. */
function frame(labels: readonly string[]): EChartsCoreOption {
  const axisLabel = { color: 'var(--muted)', fontSize: FONT_SIZE, hideOverlap: true };
  const axisLine = { lineStyle: { color: 'var(--line)' } };
  const axisTick = { ...axisLine, alignWithLabel: true };
  return {
    animation: false,
    grid: { left: 4, right: 20, top: 10, bottom: 4, outerBoundsMode: 'same' },
    xAxis: { type: 'category', data: [...labels], boundaryGap: false, axisLabel, axisLine, axisTick },
    yAxis: { type: 'value', axisLabel, splitLine: axisLine, splitNumber: 3, minInterval: 1 },
  };
}

function drawn(title: string, option: EChartsCoreOption): Markup {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT });
  chart.setOption(option);
  const svg = chart.renderToSVGString({ useViewBox: true });
  chart.dispose();
  return html`<div class="chart" role="img" aria-label="${title}">${new Markup(bare(svg))}</div>`;
}

/** The drawing without what only a live chart needs. Text in it is escaped (ECharts, `encodeHTML`): what looks like an attribute is one. */
function bare(svg: string): string {
  return svg
    .replaceAll(/<(style|defs)\b[^>]*>[\s\S]*?<\/\1>/g, '')
    .replaceAll(
      / (?:style|class|clip-path|ecmeta_\w+|pointer-events|xmlns(?::xlink)?|baseProfile|version)="[^"]*"/g,
      '',
    )
    .replace(/^<svg width="\d+" height="\d+"/, '<svg aria-hidden="true"')
    .replaceAll(/\n\s*/g, '');
}
