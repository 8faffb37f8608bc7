/** What a run that cannot start, is refused or was killed says to whoever has to mend it: at the command line, to `notify`, in `status` and the metrics. */

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';

import { asFailure } from '../../src/errors.ts';
import { withWarehouse } from '../../src/warehouse/opening.ts';
import {
  startScriptedServer,
  type ScriptedServer,
  useDirectory,
} from '../support/scripted-server.ts';
import { carriedOut, recordedShell, type RecordedShell } from '../unit/cli-recorded-shell.ts';

let directory = '';
let server: ScriptedServer;

const slice =
  '{ name: daily, dimensions: [day], metrics: [installs], date_period: "-3d:yesterday", reattributed: all }';

beforeEach(async () => {
  directory = await useDirectory();
  server = await startScriptedServer(({ path }) =>
    path.startsWith('/hook') ? { status: 200 } : { status: 401, body: '{"error":"no"}' },
  );
  await mkdir(join(directory, 'data'));
  await writeFile(
    join(directory, 'ripen.yaml'),
    `service:
  base_url: ${server.origin}
  reports_url: ${server.origin}
  token: \${RIPEN_TOKEN}
warehouse: data/w.duckdb
partners: false
notify: { url: "${server.origin}/hook", on: [failed] }
slices:
  - ${slice}
`,
  );
});

async function ran(argv: readonly string[], environment: Record<string, string> = {}) {
  const shell: RecordedShell = { ...recordedShell({ directory }), environment };
  const end = await carriedOut(shell, ...argv).catch((thrown: unknown) => asFailure(thrown));
  return { end, shell };
}

const noticesTo = ({ received }: ScriptedServer): string[] =>
  received
    .filter(({ path }) => path === '/hook')
    .map(({ body }) => z.object({ text: z.string() }).parse(JSON.parse(body)).text);

test('a token that is refused is one failure, which names its line, its variable and what readers have', async () => {
  const { end, shell } = await ran(['sync', '--quiet', '--json'], { RIPEN_TOKEN: 'refused' });
  expect(end).toBe(78);
  const text = z.string();
  const failure = z.object({ code: text, count: z.number(), message: text, hint: text });
  const { failures } = z
    .object({ failures: z.array(failure) })
    .parse(JSON.parse(shell.printed[0] ?? ''));
  expect(failures).toMatchObject([{ code: 'CREDENTIALS_REFUSED', count: 1 }]);
  expect(failures[0]?.message).toContain('Readers have no data yet.');
  expect(failures[0]?.hint).toMatch(
    /^Set the variable RIPEN_TOKEN, which service\.token \(.*ripen\.yaml:4\) reads/,
  );
  expect(noticesTo(server)).toStrictEqual([
    expect.stringMatching(
      /, run [\da-f-]{36}\nCREDENTIALS_REFUSED: .*\nhint: Set the variable RIPEN_TOKEN/,
    ),
  ]);
});

test('a .env beside the configuration fills what the environment lacks, and no more', async () => {
  await writeFile(join(directory, '.env'), 'RIPEN_TOKEN="from-the-file"\n');
  await ran(['sync', '--quiet']);
  await ran(['sync', '--quiet'], { RIPEN_TOKEN: 'of-the-environment' });
  const tokens = server.received
    .filter(({ path }) => path !== '/hook')
    .map(({ headers }) => headers['authorization']);
  expect([...new Set(tokens)]).toStrictEqual(['Bearer from-the-file', 'Bearer of-the-environment']);
});

test.each([
  ['--as-of', 'yesterday'],
  ['--deadline', '90'],
  ['--config', 'nowhere.yaml'],
])(
  'a run that %s %s keeps from starting leaves no metrics of an earlier success, and no other file is written over',
  async (...words) => {
    const metrics = join(directory, 'm.prom');
    const command = ['sync', '--quiet', '--metrics-file', 'm.prom', ...words];
    await writeFile(metrics, '# HELP ripen_run_success\nripen_run_success{command="sync"} 1\n');
    await ran(command);
    expect(await readFile(metrics, 'utf8')).toContain('ripen_run_success{command="sync"} 0\n');
    await ran(['sync', '--metrics-file', 'ripen.yaml', ...words]);
    expect(await readFile(join(directory, 'ripen.yaml'), 'utf8')).toContain(
      'warehouse: data/w.duckdb',
    );
  },
);

test('a run after one that was killed while it published is told as recovered, though status then takes that one as done', async () => {
  await writeFile(
    join(directory, 'ripen.yaml'),
    `service: { simulator: { seed: 3, apps: 1, rows_per_day: 6, partners: 2, links: 2 } }
warehouse: data/w.duckdb
partners: false
publish: [duckdb: analytics/a.duckdb]
notify: { url: "${server.origin}/hook", on: [recovered] }
slices:
  - ${slice}
`,
  );
  expect((await ran(['sync', '--quiet'])).end).toBe(0);
  const opening = { mode: 'write', lockWaitMs: 0, emit: () => {} } as const;
  await withWarehouse(join(directory, 'data', 'w.duckdb'), opening, async (warehouse) => {
    await warehouse.run(
      `update ripen.runs set finished_at = null, exit_code = null, status = 'running'`,
    );
    await warehouse.run('update ripen_internal.publishes set copies = null');
  });
  for (const notices of [1, 1]) {
    expect((await ran(['sync', '--quiet'])).end).toBe(0);
    expect(noticesTo(server)).toHaveLength(notices);
  }
  const { shell } = await ran(['status', '--json']);
  const { runs } = z
    .object({ runs: z.array(z.object({ status: z.string(), finished_at: z.unknown() })) })
    .parse(JSON.parse(shell.printed[0] ?? ''));
  expect(runs[2]).toEqual({ status: 'succeeded', finished_at: null });
}, 60_000);
