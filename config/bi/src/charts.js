/** The pictures of the dashboard. Solid is final; hatched, hollow or missing is what may still change. */

import * as Plot from '@observablehq/plot';

import { amountText, ratioText } from './format.js';

const standing = (isFinal) => (isFinal ? 'final' : 'not final yet');
const frame = (width) => ({ width, height: 190, marginLeft: 48, marginRight: 12 });
/** Months have room enough beside each other where each gets this many pixels. */
const MONTH_WIDTH = 70;
const monthsOf = (days, width) => ({
  type: 'utc',
  label: null,
  ticks: `${Math.ceil((new Set(days.map(({ name }) => name.slice(0, 7))).size * MONTH_WIDTH) / width)} months`,
  tickFormat: '%b %Y',
});

/** A bar a day; hatched where the day is not final. */
export function moneyChart(days, metric, width) {
  const known = days.filter((day) => day[metric] !== null);
  return Plot.plot({
    ...frame(width),
    ariaLabel: `${metric} by day`,
    x: monthsOf(days, width),
    y: { label: null, grid: true, ticks: 4, tickFormat: 's' },
    marks: [
      Plot.rectY(known, {
        x: 'day',
        interval: 'day',
        y: metric,
        fill: (day) => (day[`${metric}IsFinal`] ? 'var(--final)' : 'url(#not-final)'),
        inset: width / known.length > 6 ? 0.5 : 0,
        title: (day) =>
          `${day.name}: ${amountText(day[metric])}, ${standing(day[`${metric}IsFinal`])}`,
      }),
      Plot.ruleY([0]),
    ],
  });
}

/** A dot a day; hollow where spend or revenue of the day is not final. */
export function returnChart(days, width) {
  const known = days.filter(({ returned }) => returned !== null);
  return Plot.plot({
    ...frame(width),
    ariaLabel: 'return by day',
    x: monthsOf(days, width),
    y: { label: null, grid: true, ticks: 4, zero: true, tickFormat: '.1f' },
    marks: [
      Plot.ruleY([0]),
      Plot.dot(known, {
        x: 'day',
        y: 'returned',
        r: 2.5,
        stroke: 'var(--final)',
        fill: ({ returnedIsFinal }) => (returnedIsFinal ? 'var(--final)' : 'none'),
        title: (day) => `${day.name}: ${ratioText(day.returned)}, ${standing(day.returnedIsFinal)}`,
      }),
    ],
  });
}

/** A line for each month of install over the age of its installs. */
export function cohortChart(cohorts, width) {
  const months = [...new Set(cohorts.map(({ install_month: of }) => of))];
  const point = { x: 'age_days', y: 'revenue_per_install' };
  return Plot.plot({
    ...frame(width),
    height: 240,
    ariaLabel: 'revenue of an install by age',
    x: {
      label: 'age in days',
      ticks: [...new Set(cohorts.map(({ age_days: age }) => age))],
      tickFormat: 'd',
    },
    y: { label: null, grid: true, ticks: 4, zero: true, tickFormat: '.2f' },
    color: {
      legend: true,
      domain: months,
      range: months.map((_, index) => `var(--line-${1 + (index % 5)})`),
    },
    marks: [
      Plot.ruleY([0]),
      Plot.line(cohorts, { ...point, stroke: 'install_month' }),
      Plot.dot(cohorts, {
        ...point,
        fill: 'install_month',
        title: (of) =>
          `${of.install_month}, ${of.age_days} days: ${ratioText(of.revenue_per_install)}`,
      }),
    ],
  });
}
