/** The bench's slice, world and nights: cohorts to day 120 beside spend, over a date period from a fixed start. */

import { addDays, day, dayAt, startOfDayAt, UTC } from '../../../src/model/calendar.ts';
import { catalogFilters, type Catalog } from '../../../src/model/catalog.ts';
import { metricsOf } from '../../../src/model/metric.ts';
import type { Slice } from '../../../src/model/slice.ts';
import { fraction, mix } from '../../../src/simulator/world/hash.ts';
import { createWorld, type World, type WorldOptions } from '../../support/simulator/world.ts';
import { slice } from '../../support/slice.ts';
import type { Setting } from './pass-nights.ts';
import { askWorld } from './reported-rows.ts';

const START_DAY = day('2025-01-01');
/** So far the date period reaches back at the first night: longer than any of the metrics moves. */
export const HISTORY_DAYS = 122;
/** Nothing of a period moves after that, whatever the metric. */
export const TRUTH_AFTER_DAYS = 400;

export const worldOptions: Partial<WorldOptions> = {
  seed: 1,
  apps: 2,
  partners: 6,
  links: 24,
  rowsPerDay: 60,
};

const cohortMetrics =
  'installs clicks cost network_cost revenue cohort_size_d7 all_revenue_total_d7 all_revenue_total_d30 ' +
  'all_revenue_total_d60 all_revenue_total_d120 roas_d30';

const networkDaily: Slice = slice({
  name: 'network_daily',
  dimensions: ['day', 'app_token', 'network', 'os_name', 'country_code'],
  metrics: cohortMetrics.split(' '),
  datePeriod: { first: { day: START_DAY }, last: { daysAgo: 1 } },
});

/** The metrics of an ordinary report by network, the latest of which is final after 31 days. */
export const usualMetrics =
  'installs clicks impressions cost network_cost cohort_size_d7 all_revenue_total_d7 all_revenue_total_d30'.split(
    ' ',
  );

/**
 * The instants of the runs of so many nights in a row, each at some minute between 03:00 and 06:00 UTC. The first always happens; of
 * the others one in thirty is without a run, and there is an outage of a week.
 */
function runNights(nights: number): Date[] {
  const seed = 7;
  return Array.from({ length: nights }, (_, night) => {
    const isOut = night >= 20 && night < 27;
    const isSkipped = night > 0 && fraction(mix(seed, night)) < 1 / 30;
    if (isOut || isSkipped) return [];
    const hour = 3 + 3 * fraction(mix(mix(seed, 1), night));
    const midnight = startOfDayAt(addDays(START_DAY, HISTORY_DAYS + night + 1), UTC);
    return [new Date(midnight.getTime() + Math.floor(hour * 3_600_000))];
  }).flat();
}

/** So many nights in a row, the first of which loads the history. */
export function nightsFromStart(
  nights: number,
  metrics: readonly string[] = networkDaily.metrics,
): Setting {
  const reported: Slice = { ...networkDaily, metrics };
  const world = createWorld(worldOptions);
  const runs = runNights(nights);
  const end = dayAt(runs.at(-1) ?? new Date(0), UTC);
  const inTheEnd = new Date(`${addDays(end, TRUTH_AFTER_DAYS)}T00:00:00Z`);
  return {
    world,
    slice: reported,
    metrics: metricsOf(reported, catalogOf(world)),
    nights: runs,
    truth: askWorld(world, reported, { start: START_DAY, end }, inTheEnd),
  };
}

function catalogOf(world: World): Catalog {
  const lists = world.filtersData(
    new URLSearchParams({ required_filters: catalogFilters.join(',') }),
  );
  return Object.entries(lists).flatMap(([filter, items]) =>
    items.map(({ id, name, short_name: shortName, section, formatting, description }) => ({
      filter,
      id,
      name,
      shortName,
      section,
      formatting,
      description,
    })),
  );
}
