/**
 * Draws line charts as SVG with ECharts, without a browser; the only file that uses ECharts.
 * A chart loads nothing and has no styles of its own. Its colours are the page's variables, so that the page chooses light or
 * dark, and the page's policy can allow its one style sheet alone.
 */

import { LineChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { init, use, type EChartsCoreOption } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

import { html, Markup } from './html.ts';

/** In units of the picture: two stand side by side, and one fills a phone's width. */
const WIDTH = 480;
const HEIGHT = 190;
/** For reserving room; the style sheet's letters are a little smaller. */
const FONT_SIZE = 13;

use([LineChart, GridComponent, SVGRenderer]);

/** A value for each label; null leaves a gap. */
export interface Series {
  /** One of the page's colours, such as `--series-1`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  readonly isDashed?: boolean;
}

/** The legend is outside the chart. */
export function lineChart(
  title: string,
  labels: readonly string[],
  all: readonly Series[],
): Markup {
  const series = all.map(({ colour, values: data, isDashed = false }) => {
    const lineStyle = { color: `var(${colour})`, width: 2, type: isDashed ? 'dashed' : 'solid' };
    return { type: 'line', symbol: 'none', silent: true, lineStyle, data };
  });
  const axisLabel = { color: 'var(--muted)', fontSize: FONT_SIZE, hideOverlap: true };
  const axisLine = { lineStyle: { color: 'var(--line)' } };
  const axisTick = { ...axisLine, alignWithLabel: true };
  const option: EChartsCoreOption = {
    animation: false,
    grid: { left: 4, right: 20, top: 10, bottom: 4, outerBoundsMode: 'same' },
    xAxis: {
      type: 'category',
      data: [...labels],
      boundaryGap: false,
      axisLabel,
      axisLine,
      axisTick,
    },
    yAxis: { type: 'value', axisLabel, splitLine: axisLine, splitNumber: 3, minInterval: 1 },
    series,
  };
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT });
  chart.setOption(option);
  const svg = chart.renderToSVGString({ useViewBox: true });
  chart.dispose();
  return html`<div class="chart" role="img" aria-label="${title}">${new Markup(bare(svg))}</div>`;
}

/** ECharts escapes text, so what looks like an attribute is one. */
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
