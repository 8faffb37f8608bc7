/** The schedules that come with ripen, as their schedulers read and run them; `ripen` itself is a script that ends as told. */

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { parseCommandLine } from '../../src/commands/command-line.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const schedules = join(root, 'config/schedules');
const textOf = (name: string): string => readFileSync(join(schedules, name), 'utf8');
const answers = (program: string, flag: string): boolean => spawnSync(program, [flag]).status === 0;

const FAILURE = 'CREDENTIALS_REFUSED: the service answered 401';
const SUMMARY = '{"run_id":"r1","slices":[],"failures":[]}';
const FAILED = `{"run_id":"r1","slices":[],"failures":[{"code":"CREDENTIALS_REFUSED","message":"the service answered 401","hint":"Check the token."}]}`;

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ripen-schedules-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** Puts a `ripen` into the directory that ends with one code a call, and writes down its arguments and token. */
function ripenEndingWith(...codes: readonly number[]): void {
  const file = join(directory, 'ripen');
  const ends = codes.map((code, call) => `${call + 1}) code=${code} ;;`).join(' ');
  writeFileSync(
    file,
    `#!/bin/sh
echo "$*|$RIPEN_TOKEN|$KEPT" >> ${directory}/calls
case $(wc -l < ${directory}/calls | tr -d ' ') in ${ends} *) code=${codes.at(-1) ?? 0} ;; esac
if [ "$code" -ne 0 ]; then echo '${FAILURE}' >&2; echo '${FAILED}'; else echo '${SUMMARY}'; fi
exit "$code"
`,
  );
  chmodSync(file, 0o755);
}

function calls(): string[] {
  const file = join(directory, 'calls');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

test('all of them run at 10:30 UTC, once a day, and say why', () => {
  expect(textOf('airflow.py')).toContain('schedule="30 10 * * *"');
  expect(textOf('crontab').match(/^[^#\n]*\*.*$/gm)).toStrictEqual([
    '30 10 * * * /bin/sh /etc/ripen/ripen-nightly.sh',
  ]);
  expect(textOf('ripen.timer').match(/^OnCalendar=.*$/gm)).toStrictEqual([
    'OnCalendar=*-*-* 10:30:00 UTC',
  ]);
  expect(textOf('kubernetes.yaml')).toMatch(/schedule: '30 10 \* \* \*'\n\s+timeZone: Etc\/UTC/);
  expect(textOf('github-actions.yaml')).toContain("- cron: '30 10 * * *'");
  expect(textOf('compose.yaml')).toContain('#   30 10 * * * docker compose');
  for (const name of [
    'airflow.py',
    'crontab',
    'ripen.timer',
    'kubernetes.yaml',
    'github-actions.yaml',
  ]) {
    expect(textOf(name), name).toContain('complete by 09:00 UTC');
  }
});

describe('ripen-nightly.sh under an empty environment', () => {
  const script = join(schedules, 'ripen-nightly.sh');

  function nightly(settings = ''): { readonly status: number | null; readonly said: string } {
    const environment = join(directory, 'environment');
    const own = `PATH=${directory}:/usr/bin:/bin\nRIPEN_TOKEN=a-token\nRIPEN_LOG=${directory}/log\nRIPEN_PAUSE_SECONDS=0\n`;
    writeFileSync(environment, `${own}${settings}`);
    const { status, stdout, stderr } = spawnSync('/bin/sh', [script, environment], {
      env: {},
      encoding: 'utf8',
    });
    return { status, said: `${stdout}${stderr}` };
  }

  test('prints nothing when the sync succeeds, and gives it the token', async () => {
    ripenEndingWith(0);
    expect(nightly()).toStrictEqual({ status: 0, said: '' });
    const [call = ''] = calls();
    const [words = '', token] = call.split('|');
    expect(token).toBe('a-token');
    expect((await parseCommandLine(words.split(' '), '0')).kind).toBe('act');
  });

  test.each([
    [[65], '', 65, 1],
    [[78], '', 78, 1],
    [[75], 'RIPEN_TRIES=4\n', 75, 4],
  ])(
    'after the exit codes %j (%j) prints the cause and ends with %i after %i calls',
    (codes, settings, code, count) => {
      ripenEndingWith(...codes);
      const { status, said } = nightly(settings);
      expect([status, calls().length]).toStrictEqual([code, count]);
      expect(said).toContain(FAILURE);
      expect(said).toContain(`exit code ${code}`);
    },
  );

  test('tries again after 75, twice, and prints nothing when the third call succeeds', () => {
    ripenEndingWith(75, 75, 0);
    expect(nightly()).toStrictEqual({ status: 0, said: '' });
    expect(calls()).toHaveLength(3);
  });
});

test('the systemd unit runs a sync, restarts it after 75 alone, and not for ever', async () => {
  const unit = textOf('ripen.service');
  const [, words = ''] = /^ExecStart=\/usr\/bin\/ripen (.*)$/m.exec(unit) ?? [];
  expect((await parseCommandLine(words.split(' '), '0')).kind).toBe('act');
  expect(unit).toContain('\nRestart=on-failure\nRestartPreventExitStatus=65 70 74 78\n');
  expect(unit).toContain('\nStartLimitBurst=24\n');
});

/** As much of Airflow as the DAG touches; the task is called with the interval that stdin states, or with none. */
const airflowStub = `
class AirflowException(Exception): pass
class AirflowFailException(AirflowException): pass
class Variable:
    @staticmethod
    def get(name):
        return "token-of-" + name
def dag(**settings):
    print("DAG", settings["schedule"], settings["default_args"]["retries"], settings["default_args"]["retry_delay"])
    return lambda function: function
def task(**settings):
    import sys, datetime, logging
    logging.basicConfig(stream=sys.stdout, format="LOG %(message)s", level=logging.INFO)
    def decorate(function):
        def call():
            text = sys.stdin.read()
            end = datetime.datetime.fromisoformat(text) if text else None
            try:
                print("RETURNED", function(data_interval_end=end))
            except AirflowException as error:
                print("RAISED", type(error).__name__, error)
        return call
    return decorate
`;

describe.skipIf(!answers('python3', '--version'))('the DAG', () => {
  const modules = {
    2: { decorators: 'from airflow import dag, task', models: 'from airflow import Variable' },
    3: { sdk: 'from airflow import Variable, dag, task' },
  } as const;

  function runDag(
    version: 2 | 3,
    interval: string,
    environment: Readonly<Record<string, string>> = {},
  ): string {
    const packages = join(directory, 'airflow');
    mkdirSync(packages);
    writeFileSync(join(packages, '__init__.py'), airflowStub);
    writeFileSync(
      join(packages, 'exceptions.py'),
      'from airflow import AirflowException, AirflowFailException',
    );
    for (const [name, text] of Object.entries(modules[version]))
      writeFileSync(join(packages, `${name}.py`), text);
    // A copy under another name: a script called airflow.py would hide the package.
    writeFileSync(join(directory, 'nightly.py'), textOf('airflow.py'));
    const env = {
      PATH: `${directory}:${process.env['PATH'] ?? ''}`,
      PYTHONPATH: directory,
      KEPT: 'kept',
      ...environment,
    };
    const { stdout, stderr, status } = spawnSync('python3', [join(directory, 'nightly.py')], {
      env,
      input: interval,
      encoding: 'utf8',
    });
    expect([status, stderr]).toStrictEqual([0, '']);
    return stdout;
  }

  test.each([2, 3] as const)(
    'of Airflow %i syncs as of the end of its interval, with the worker’s environment and the token',
    async (version) => {
      ripenEndingWith(0);
      const said = runDag(version, '2026-02-14T11:30:00+01:00');
      expect(said).toContain('DAG 30 10 * * * 24 0:15:00');
      expect(said).toContain("RETURNED {'run_id': 'r1', 'slices': []}");
      const [call = ''] = calls();
      const [words = '', token, kept] = call.split('|');
      expect([token, kept]).toStrictEqual(['token-of-ripen_token', 'kept']);
      expect(words).toContain('--as-of 2026-02-14T10:30:00Z');
      expect((await parseCommandLine(words.split(' '), '0')).kind).toBe('act');
    },
  );

  test.each([
    [75, 'AirflowException'],
    [143, 'AirflowException'],
    [78, 'AirflowFailException'],
  ])('whose ripen ends with %i raises %s, and has the cause in its own log', (code, raised) => {
    ripenEndingWith(code);
    const said = runDag(3, '2026-02-14T10:30:00+00:00');
    expect(said).toContain(`LOG ${FAILURE}`);
    expect(said).toContain('LOG CREDENTIALS_REFUSED: the service answered 401 Check the token.');
    expect(said).toContain(`RAISED ${raised} ripen ended with ${code}: CREDENTIALS_REFUSED`);
  });
});
