import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { openWarehouse } from '../../src/warehouse/opening.ts';
import { openScenario, type Scenario } from '../support/scenario.ts';
import { carriedOut, recordedShell, type RecordedShell } from '../unit/cli-recorded-shell.ts';

let scenario: Scenario;

async function opened(
  baseUrl?: string,
): Promise<{ readonly shell: RecordedShell; readonly app: string }> {
  scenario = await openScenario([], {
    simulator: { token: 'simulator-token', world: { apps: 1, links: 20 } },
  });
  const { directory, simulator } = scenario;
  const shell = recordedShell({ directory });
  const { url } = simulator;
  await writeFile(
    join(directory, 'ripen.yaml'),
    `service: {base_url: "${baseUrl ?? url}", reports_url: "${url}", token: simulator-token}
warehouse: warehouse.duckdb
slices:
  - {name: daily, dimensions: [day], metrics: [installs], date_period: "2026-01-01:yesterday"}
`,
  );
  return { shell, app: simulator.world.apps[0]?.token ?? '' };
}

/** `ripen links …`, quietly. */
const ran = (shell: RecordedShell, ...words: readonly string[]): Promise<number> =>
  carriedOut(shell, 'links', ...words, '--quiet');

test('links create and links update print the link as JSON, and make no warehouse where there is none', async () => {
  const { shell, app } = await opened();
  expect(await ran(shell, 'create', '--app', app, '--name', 'Fresh', '--json')).toBe(0);
  const created: unknown = JSON.parse(shell.printed.at(-1) ?? '');
  expect(created).toMatchObject({ link: { label: 'Fresh', level: 1 }, created: true });
  const link = scenario.simulator.links.list(app, null).at(-1)?.item.token ?? '';
  await ran(shell, 'update', '--app', app, '--link', link, '--cost-data', 'true');
  expect(scenario.simulator.links.find(link)?.cost_data_enabled).toBe(true);
  const emit = (): void => {};
  await expect(
    openWarehouse(scenario.config.warehouse, { mode: 'read', lockWaitMs: 0, emit }),
  ).rejects.toThrow('does not exist');
});

test('links create run 2 times creates 1 link and shows it; an archived one of the name is none', async () => {
  const { shell, app } = await opened();
  const { links, requested } = scenario.simulator;
  const named = () => links.list(app, null).filter(({ item }) => item.label === 'Again');
  const run = async (): Promise<unknown> => {
    await ran(shell, 'create', '--app', app, '--name', 'Again', '--json');
    return JSON.parse(shell.printed.at(-1) ?? '');
  };
  links.add(app, null, { name: 'Again' });
  links.archive(named()[0]?.item.token ?? '');
  expect(await run()).toMatchObject({ created: true });
  const token = named()[1]?.item.token;
  expect(await run()).toMatchObject({ created: false, link: { token, label: 'Again' } });
  expect([named().length, requested.counts.create_link]).toEqual([2, 1]);
});

test('links list and partners print JSON under the names the service has for fields, ids as text', async () => {
  const { shell, app } = await opened();
  const { links, world } = scenario.simulator;
  await carriedOut(shell, 'partners', '--json', '--quiet');
  expect(JSON.parse(shell.printed.at(-1) ?? '')).toEqual({
    partners: world.partners.map(({ id, display_name, supports_cost_data }) => ({
      id: String(id),
      display_name,
      supports_cost_data,
    })),
  });
  await ran(shell, 'list', '--app', app, '--json');
  expect(JSON.parse(shell.printed.at(-1) ?? '')).toEqual({
    links: links.list(app, null).map(({ item }) => ({
      name: item.name,
      token: item.token,
      label: item.label,
      level: 1,
      archived: item.archived,
      has_subtrackers: links.list(app, item.token).length > 0,
      partner_id: item.partner_id === null ? null : String(item.partner_id),
      cost_data_enabled: item.cost_data_enabled,
      url: item.url,
      click_url: item.click_url,
      impression_url: item.impression_url,
    })),
  });
});
