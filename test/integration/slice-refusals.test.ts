/** Slices that cannot be loaded as configured: an error of check at its place, and refused by sync before any report. */

import { expect, test } from 'vitest';
import * as z from 'zod';

import { type Config, plan, readConfig, sync } from '../../src/index.ts';
import { startAccount } from '../support/grown-account.ts';
import { openInstallation, serviceAt, TOKEN } from '../support/installation.ts';
import { textWith } from '../support/matching.ts';
import { carriedOut, recordedShell } from '../unit/cli-recorded-shell.ts';

const NIGHT = new Date('2026-02-14T02:30:00Z');
const apps = Array.from({ length: 900 }, (_, at) => `app${String(at).padStart(9, '0')}`);
const loadable = {
  name: 'loadable',
  dimensions: ['day'],
  metrics: ['installs'],
  date_period: '2026-02-11:yesterday',
};
const shape = z.object({ findings: z.array(z.looseObject({ severity: z.string() })) });
const cube = { name: 'curve', dimensions: ['day'], date_period: '2026-02-11:yesterday' };

test.each([
  [
    'money beside ratios in a cube',
    { ...cube, cohorts: { all_revenue_total: ['d0', 'd7'], roas: ['d7'] } },
    'all_revenue_total_d0 (DECIMAL(18,6)) would not be exact beside roas_d7 (DOUBLE)',
    'Put money and ratios into two slices, each with its own cohorts.',
    'cohorts',
  ],
  [
    'a list of values that no address can hold',
    { ...loadable, name: 'many', filters: { app_token__in: apps } },
    'no address can hold app_token__in, whose 900 values take 13497 bytes',
    "Add app_token to the slice's dimensions, so that the list can be requested in parts; if the service accepts longer addresses, raise service.max_url_bytes.",
    'filters.app_token__in',
  ],
])('%s is refused', async (_, refused, message, hint, setting) => {
  const installation = await openInstallation();
  const server = await startAccount({ apps: [], events: [], ages: ['d0', 'd7'] });
  const configured = async (slice: object): Promise<Config> => {
    const rest = {
      warehouse: 'w.duckdb',
      control: 'off',
      partners: false,
      slices: [loadable, slice],
    };
    await installation.configure({ service: serviceAt(server.origin), ...rest });
    return readConfig({ directory: installation.directory, environment: { RIPEN_TOKEN: TOKEN } });
  };
  const config = await configured(refused);
  const { name } = refused;
  const errorsOf = async (): Promise<unknown[]> => {
    const { directory } = installation;
    const shell = { ...recordedShell({ directory }), environment: { RIPEN_TOKEN: TOKEN } };
    await carriedOut(shell, 'check', '--json', '--quiet');
    const { findings } = shape.parse(JSON.parse(shell.printed.join('')));
    return findings.filter(({ severity }) => severity === 'error');
  };
  const error = {
    code: 'CONFIG_INVALID',
    slice: name,
    message: textWith(message),
    hint,
  };
  expect(await errorsOf()).toMatchObject([{ ...error, setting: `slices[1].${setting}` }]);

  const summary = await sync(config, { asOf: NIGHT });
  expect(summary.failures).toMatchObject([error]);
  expect(summary.slices).toMatchObject([{ name: 'loadable', windows: { failed: 0 } }]);
  const reports = server.received.filter(({ path }) => path.endsWith('/report'));
  expect(reports.length).toBe(1);
  expect(await errorsOf()).toHaveLength(1);
  await expect(plan(config, { asOf: NIGHT })).rejects.toThrow(message);
});
