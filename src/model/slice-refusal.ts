/** Why a slice cannot be loaded as configured. Pure. */

import { type Catalog } from './catalog.ts';
import { formatColumnType, isExact, isOfCounts } from './column-type.ts';
import { globMatches, isMetricItem, metricsOf } from './metric.ts';
import type { Slice } from './slice.ts';
import { isStar, MAX_STARRED, starsOf, withStars } from './stars.ts';
import { hasRoom, wholeParts } from './window.ts';

/** Without a catalog it is unknown what a star stands for, and which type a metric has. */
export function sliceRefusal(slice: Slice, catalog: Catalog) {
  const listed = catalog.filter(isMetricItem).map(({ id }) => id);
  const starred = withStars(slice, starsOf(slice, listed));
  const stars = slice.metrics.filter(isStar);
  if (stars.length > 0 && listed.length > 0) {
    const setting = 'metrics';
    const empty = stars.find((star) => !listed.some((name) => globMatches(star, name)));
    if (empty !== undefined) {
      const hint = 'Correct or remove the pattern; `ripen catalog WORD` searches the metrics.';
      return { setting, message: `${empty} matches no metric that filters-data lists`, hint };
    }
    const maxMetrics = slice.maxMetrics ?? MAX_STARRED;
    if (starred.metrics.length > maxMetrics) {
      const message = `with what ${stars.join(', ')} stands for it has ${starred.metrics.length} metrics, and at most ${maxMetrics} are allowed`;
      const hint = 'Narrow the pattern, or raise max_metrics of the slice.';
      return { setting, message, hint };
    }
  }

  const [longest] = Object.entries(slice.parameters).toSorted(
    (one, other) => other[1].length - one[1].length,
  );
  if (longest !== undefined && !wholeParts(starred).every((part) => hasRoom(starred, part))) {
    const [setting, value] = longest;
    const [dimension = '', test] = setting.split('__');
    const isMissing = test === 'in' && !slice.dimensions.includes(dimension);
    const divided = isMissing
      ? `Add ${dimension} to the slice's dimensions, so that the list can be requested in parts`
      : 'Divide its values among several slices';
    return {
      setting,
      message: `no address can hold ${setting}, whose ${value.split(',').length} values take ${encodeURIComponent(value).length} bytes`,
      hint: `${divided}; if the service accepts longer addresses, raise service.max_url_bytes.`,
    };
  }

  if (slice.cube === undefined || listed.length === 0) return null;
  const types = metricsOf(slice, catalog);
  const money = types.find(({ type }) => isExact(type) && !isOfCounts(type));
  const ratio = types.find(({ type }) => !isExact(type));
  if (money === undefined || ratio === undefined) return null;
  return {
    setting: 'cohorts',
    message: `a cube has one column for all values, in which ${money.id} (${formatColumnType(money.type)}) would not be exact beside ${ratio.id} (DOUBLE)`,
    hint: 'Put money and ratios into two slices, each with its own cohorts.',
  };
}
