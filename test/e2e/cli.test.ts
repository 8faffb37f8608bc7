import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';

import { startSimulator } from '../support/simulator/simulator.ts';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const TOKEN = 'marked-token-7c1d0e';

const summaryShape = z.object({
  status: z.string(),
  slices: z.array(
    z.object({ name: z.string(), rows: z.object({ loaded: z.number() }), periods: z.record(z.string(), z.number()) }),
  ),
  failures: z.array(z.object({ code: z.string() })),
});

let directory = '';

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ripen-cli-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(argv: readonly string[], environment: Readonly<Record<string, string>> = {}, node: string[] = []) {
  return spawn(process.execPath, [...node, cli, ...argv], {
    cwd: directory,
    env: { PATH: process.env['PATH'] ?? '', TZ: 'Pacific/Apia', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function ended(child: ReturnType<typeof start>): Promise<Ended> {
  const exit = once(child, 'exit');
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await exit;
  return { code: child.exitCode, out, err };
}

async function ripen(...argv: string[]): Promise<Ended> {
  return ended(start(argv));
}

async function configure(service: string, more = '', name = 'ripen.yaml'): Promise<void> {
  await writeFile(
    join(directory, name),
    `service: ${service}
warehouse: w.duckdb
partners: false
audit: 0
defaults: { reattributed: all }
slices:
  - name: daily
    dimensions: [day, os_name]
    metrics: [installs]
    date_period: -9d:yesterday
${more}`,
  );
}

const SMALL = '{ simulator: { seed: 3, apps: 1, rows_per_day: 20, partners: 3, links: 3 } }';

const scriptShape = z.object({ filename: z.string(), isRefused: z.boolean() });

/** A command that tells which files of the bundle it loads, and of each whether its compiled code was refused. */
async function startTold(argv: readonly string[], ...flags: readonly string[]) {
  const tell = join(directory, 'tell.mjs');
  await writeFile(
    tell,
    `import { syncBuiltinESMExports } from 'node:module';
    import vm from 'node:vm';
    vm.Script = class extends vm.Script {
      constructor(text, options) {
        super(text, options);
        const { filename } = options;
        process.stderr.write(JSON.stringify({ filename, isRefused: this.cachedDataRejected }) + '\\n');
      }
    };
    syncBuiltinESMExports();`,
  );
  const { code, out, err } = await ended(start(argv, {}, [...flags, '--import', tell]));
  const scripts = err.split('\n').filter((line) => line.startsWith('{'));
  return { code, out, scripts: scripts.map((line) => scriptShape.parse(JSON.parse(line))) };
}

describe('what loads at once', () => {
  test('--help loads neither the database, the wire, the schemas nor the simulator', async () => {
    const { code, scripts } = await startTold(['sync', '--help']);
    expect(code).toBe(0);
    const text = (await Promise.all(scripts.map(({ filename }) => readFile(filename, 'utf8')))).join('\n');
    expect(text).toContain('node_modules/yargs/');
    expect(text).not.toMatch(
      /node_modules\/(@duckdb|undici|zod|date-fns|echarts)\/|src\/simulator\/|dist\/simulator\//,
    );
  });

  test('--version is the version of package.json', async () => {
    const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    const { code, out } = await ripen('--version');
    expect(code).toBe(0);
    expect(manifest).toContain(`"version": "${out.trim()}"`);
  });
});

describe('exit codes and where text goes', () => {
  test('an unknown command ends with 78, its reason on stderr, nothing on stdout', async () => {
    const { code, out, err } = await ripen('snyc');
    expect([code, out]).toStrictEqual([78, '']);
    expect(err).toMatch(/^USAGE_INVALID: .*snyc.*\n {2}hint: .*`sync`/);
  });

  test('without a configuration every command that needs one ends with 78', async () => {
    const commands = ['check', 'plan', 'sync', 'status', 'publish', 'catalog', 'partners'];
    const all = await Promise.all(commands.map(async (command) => ripen(command)));
    expect(all.map(({ code }) => code)).toStrictEqual(commands.map(() => 78));
    for (const { err } of all) expect(err).toContain('CONFIG_MISSING');
  });

  test('an as-of instant in the future ends with 78, as JSON when asked for', async () => {
    await configure(SMALL);
    const { code, err } = await ripen('sync', '--as-of', '2999-01-01T00:00:00Z', '--log', 'json');
    expect(code).toBe(78);
    expect(JSON.parse(err)).toMatchObject({ type: 'failed', code: 'AS_OF_IN_FUTURE' });
    expect(await readdir(directory)).toStrictEqual(['ripen.yaml']);
  });
});

describe('ripen init', () => {
  test('writes 4 files that check reads, and never overwrites', async () => {
    const first = await ripen('init', 'new');
    expect(first.code).toBe(0);
    const written = await readdir(join(directory, 'new'));
    expect(written.sort()).toStrictEqual(['.env.example', '.gitignore', 'ripen.schema.json', 'ripen.yaml']);
    const config = join(directory, 'new', 'ripen.yaml');
    await writeFile(config, '# mine');
    const again = await ripen('init', 'new');
    expect(again.code).toBe(78);
    expect(again.err).toContain('ripen.schema.json');
    expect(await readFile(config, 'utf8')).toBe('# mine');
  });

  test('writes a configuration with no mistake in it but the missing token', async () => {
    await ripen('init');
    const { code, err } = await ripen('sync');
    expect(code).toBe(78);
    expect(err.match(/ripen\.yaml:\d+/g)).toHaveLength(1);
    expect(err).toContain('RIPEN_TOKEN');
    expect((await ripen('plan')).code).toBe(0);
  });
});

describe('ripen check', () => {
  test('of a sound configuration ends with 0 and writes nothing', async () => {
    await configure(SMALL);
    const { code, out } = await ripen('check');
    expect(code).toBe(0);
    expect(out).toContain('0 errors, 0 warnings');
    expect(await readdir(directory)).toStrictEqual(['ripen.yaml']);
  });
});

describe('ripen sync', () => {
  test('ends with the summary as the last line of stdout, and status and plan agree with it', async () => {
    await configure(SMALL);
    const { code, out } = await ripen('sync', '--json');
    expect(code).toBe(0);
    const summary = summaryShape.parse(JSON.parse(out.trim().split('\n').at(-1) ?? ''));
    expect(summary).toMatchObject({
      status: 'succeeded',
      failures: [],
      slices: [{ name: 'daily', periods: { new: 9 } }],
    });
    const status = await ripen('status', '--json');
    expect(JSON.parse(status.out)).toMatchObject({
      slices: [{ rows: summary.slices[0]?.rows.loaded, periods: { expected: 9, loaded: 9, missing: 0 } }],
      runs: [{ command: 'sync', status: 'succeeded', exit_code: 0 }],
    });
    const plan = await ripen('plan', '--json');
    expect(JSON.parse(plan.out)).toMatchObject({ requests: 0, slices: [{ windows: [] }] });
  });

  test('--quiet leaves stderr empty and the result on stdout', async () => {
    await configure(SMALL);
    const { code, out, err } = await ripen('sync', '--quiet');
    expect([code, err]).toStrictEqual([0, '']);
    expect(out).toContain('succeeded');
  });

  test('--log json puts one object an event on stderr', async () => {
    await configure(SMALL);
    const { err } = await ripen('sync', '--log', 'json');
    const events = err
      .trim()
      .split('\n')
      .map((line) => z.object({ at: z.iso.datetime(), type: z.string() }).parse(JSON.parse(line)));
    expect(events.at(0)?.type).toBe('run_started');
    expect(events.at(-1)?.type).toBe('run_finished');
  });

  test('backfill replaces the 2 days it is given', async () => {
    await configure(SMALL);
    const { code, out } = await ripen(
      'backfill',
      '--slice',
      'daily',
      '--from',
      '2026-01-01',
      '--to',
      '2026-01-02',
      '--json',
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      slices: [{ name: 'daily', windows: { loaded: 1 }, periods: { forced: 2 } }],
    });
  });
});

describe('a service that says no', () => {
  test('a refused token ends with 78, and is in no byte written', async () => {
    const simulator = await startSimulator({ token: 'another' });
    try {
      await configure(`{ base_url: ${simulator.url}, reports_url: ${simulator.url}, token: "\${RIPEN_TOKEN}" }`);
      for (const argv of [['sync', '--log', 'json'], ['check']]) {
        const { code, out, err } = await ended(start(argv, { RIPEN_TOKEN: TOKEN }));
        expect([argv, code]).toStrictEqual([argv, 78]);
        expect(out + err).toContain('CREDENTIALS_REFUSED');
        expect(out + err).not.toContain(TOKEN);
      }
    } finally {
      await simulator.close();
    }
  });
});

describe('signals', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends the simulator with %i', async (signal, code) => {
    const child = start(['simulator', '--json']);
    await once(child.stdout, 'data');
    child.kill(signal);
    expect((await ended(child)).code).toBe(code);
  });
});

test('the tour runs 2 nights, says what the second fetched again, and runs neither twice', async () => {
  await configure(SMALL);
  const first = await ripen('demo', '--config', 'ripen.yaml');
  expect(first.code).toBe(0);
  expect(
    first.out.match(/^== .*$/gm)?.map((heading) => heading.replaceAll(/[\d-]{10} 02:30 UTC/g, 'AT')),
  ).toStrictEqual([
    '== The first night, AT: everything is new',
    '== The second night, AT: what is due, and why',
    '== The second night: what came of it',
    '== What is final, what moved',
    '== Look around',
  ]);
  expect(first.out).toMatch(
    /9 new[\s\S]*what is due, and why\n\n {2}daily: .*\n[\s\S]*maturing, 1 new[\s\S]*1 new, \d+ maturing/,
  );
  expect(await readFile(join(directory, 'status.html'), 'utf8')).toContain('All is well.');
  const second = await ripen('demo', '--config', 'ripen.yaml');
  expect(second.code).toBe(0);
  expect(second.out).toContain('both nights are in it already');
  expect(second.out).not.toContain('night,');
});
