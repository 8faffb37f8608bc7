/** FAULTS 49: half a surrogate, as of a name that was cut inside an emoji: U+FFFD stands for it, wherever it is. */

import { expect, test } from 'vitest';

import { day } from '../../src/model/calendar.ts';
import { query } from '../support/contents.ts';
import { reports, runNight, smallWorld } from '../support/night.ts';
import { openScenario } from '../support/scenario.ts';
import { slice } from '../support/slice.ts';

const cut = 'Spring 🌸'.slice(0, -1);

test('in a dimension, an id beside it, a key and a value that nobody requested, and a rejected row, it is loaded', async () => {
  const daily = slice({
    name: 'daily',
    dimensions: ['day', 'os_name'],
    metrics: ['installs', 'clicks'],
    maxRejects: 1,
    datePeriod: { first: { day: day('2026-05-31') }, last: { day: day('2026-05-31') } },
  });
  const scenario = await openScenario([daily], { simulator: { world: smallWorld } });
  scenario.simulator.script({
    match: reports(),
    times: Infinity,
    fault: {
      kind: 'report',
      mutate: (document) => ({
        rows: [
          { day: '2026-05-31', os_name: cut, installs: 1, clicks: 2, attr_dependency: { id: cut } },
          { day: '2026-05-31', os_name: 'a', installs: 1, clicks: 2, [cut]: { [cut]: [cut, 1.5] } },
          { day: '2026-05-31', os_name: `${cut}!`, installs: 'x', clicks: 2 },
        ],
        totals: { installs: 2, clicks: 6, [cut]: cut },
        warnings: [cut],
        currency: document['currency'],
      }),
    },
  });
  const summary = await runNight(scenario, new Date('2026-06-01T02:30:00Z'));
  expect(summary.failures).toEqual([]);
  const whole = 'Spring \uFFFD';
  expect(
    await query(
      scenario,
      'select os_name, attr_dependency::varchar as ids, _extra::varchar as extra from daily order by installs, os_name',
    ),
  ).toEqual([
    { os_name: whole, ids: `{"id":"${whole}"}`, extra: null },
    { os_name: 'a', ids: null, extra: `{"${whole}":{"${whole}":["${whole}",1.5]}}` },
  ]);
  expect(
    await query(scenario, 'select "row"->>\'os_name\' as os_name from ripen.rejected_rows'),
  ).toEqual([{ os_name: `${whole}!` }]);
});

test('in a field of the catalog that nobody knows, it is stored', async () => {
  const plain = slice({ name: 'plain', dimensions: ['day'], metrics: ['installs'] });
  const scenario = await openScenario([plain], { simulator: { world: smallWorld } });
  scenario.simulator.script({
    match: ({ path }) => path.endsWith('/filters_data'),
    times: 1,
    fault: {
      kind: 'report',
      mutate: (lists) => ({
        ...lists,
        countries: [{ id: 'xx', name: cut, note: cut, [cut]: { deep: [cut] } }],
      }),
    },
  });
  const summary = await runNight(scenario, new Date('2026-06-01T02:30:00Z'));
  expect(summary.failures).toEqual([]);
  expect(await query(scenario, "select name from countries where id = 'xx'")).toEqual([
    { name: 'Spring \uFFFD' },
  ]);
});
