import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { formAsked, parseCommandLine } from '../../src/commands/command-line.ts';
import { dayRange, durationOf, instantOf } from '../../src/commands/instant.ts';
import { Failure } from '../../src/errors.ts';
import { LOCK_WAIT_MS } from '../../src/model/duration.ts';
import { checkAsOf, checkForced } from '../../src/run/circumstances.ts';
import { nightsBefore } from '../../src/start/tour.ts';
import { carriedOut, recordedShell } from './cli-recorded-shell.ts';

const VERSION = '1.2.3';

async function refused(...argv: string[]): Promise<Failure> {
  try {
    await parseCommandLine(argv, VERSION);
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
    throw thrown;
  }
  throw new Error(`${argv.join(' ')} was accepted`);
}

async function printed(...argv: string[]): Promise<string> {
  const asked = await parseCommandLine(argv, VERSION);
  if (asked.kind !== 'text') throw new Error('a command was chosen');
  return asked.text;
}

const commands = [
  ['init'],
  ['check'],
  ['plan'],
  ['sync'],
  ['backfill'],
  ['status'],
  ['replay'],
  ['publish'],
  ['drop'],
  ['export'],
  ['catalog'],
  ['partners'],
  ['links'],
  ['links', 'list'],
  ['links', 'create'],
  ['links', 'update'],
  ['spend'],
  ['spend', 'send'],
  ['simulator'],
  ['demo'],
  ['completion'],
];

describe('help', () => {
  test.each(commands)('%s %s fits a screen of 24 lines and 80 columns, and ends with an example', async (...words) => {
    const lines = (await printed(...words, '--help')).split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines.at(-1)).toMatch(new RegExp(`^Example: ripen ${words.join(' ')}`));
    const [own, shared] = [lines.indexOf('Options:'), lines.indexOf('For every command:')];
    expect(own === -1 || shared === -1 || own < shared).toBe(true);
  });

  test('of ripen itself names every command, on a screen of 24 lines and 80 columns that ends with an example', async () => {
    const text = await printed('--help');
    const lines = text.split('\n');
    expect(lines.length).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines.at(-1)).toContain('ripen init');
    for (const [command] of commands) expect(text).toContain(`ripen ${command}`);
  });

  test('of the 8 commands that wait for another run names the wait that the library has', async () => {
    const waits: number[] = [];
    for (const words of commands) {
      const [, wait] = /--lock-wait .*\[default: "(.*)"\]/.exec(await printed(...words, '--help')) ?? [];
      if (wait !== undefined) waits.push(durationOf(wait, '--lock-wait'));
    }
    expect(waits).toEqual(Array.from({ length: 8 }, () => LOCK_WAIT_MS));
  });

  test('offers no way to give a token', async () => {
    for (const words of commands) expect(await printed(...words, '--help')).not.toMatch(/--\S*(token|secret|password)/);
  });

  test('-h is --help, of ripen itself and of every command', async () => {
    for (const words of [[], ...commands]) {
      expect(await printed(...words, '-h')).toBe(await printed(...words, '--help'));
    }
  });

  test.each([[[]], [['links']], [['spend']]])(
    '%j alone is answered with help, as a command is missing',
    async (words) => {
      expect(await parseCommandLine(words, VERSION)).toStrictEqual({
        kind: 'missing',
        text: await printed(...words, '--help'),
      });
    },
  );

  test('--version prints the version and nothing else', async () => {
    expect(await printed('--version')).toBe(VERSION);
  });

  test('completion prints a script, and its words begin as typed', async () => {
    expect(await printed('completion')).toContain(
      'complete -o bashdefault -o default -F _ripen_yargs_completions ripen',
    );
    expect((await printed('--get-yargs-completions', 'ripen', 's')).split('\n')).toContain('sync');
    const options = (await printed('--get-yargs-completions', 'ripen', 'status', '--')).split('\n');
    expect(options).toStrictEqual(expect.arrayContaining(['--html', '--config', '--as-of']));
    expect((await printed('--get-yargs-completions', 'ripen', 'links', '')).split('\n')).toStrictEqual([
      'list',
      'create',
      'update',
    ]);
  });
});

test('completion of --slice names the slices of the configuration that begin as typed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-words-'));
  try {
    const slice = (name: string): string =>
      `  - { name: ${name}, dimensions: [day], metrics: [installs], date_period: yesterday }\n`;
    await writeFile(join(directory, 'ripen.yaml'), `service: simulator\nslices:\n${slice('daily')}${slice('weekly')}`);
    const completed = async (...words: string[]): Promise<readonly string[]> => {
      const shell = recordedShell({ directory });
      await carriedOut(shell, '--get-yargs-completions', 'ripen', 'plan', ...words);
      return shell.printed;
    };
    expect(await completed('--slice', '')).toEqual(['daily', 'weekly']);
    expect(await completed('--slice', 'we')).toEqual(['weekly']);
    expect(await completed('--config', 'none.yaml', '--slice', '')).toEqual([]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

describe('the command line', () => {
  test.each([
    [['snyc'], '`sync`'],
    [['backfil', '--slice', 'a'], '`backfill`'],
    [['sync', '--slise', 'a'], '`--slice`'],
    [['sync', '--lockwait', '1s'], '`--lock-wait`'],
    [['status', '--jsn'], '`--json`'],
    [['links', 'lst', '--app', 'a'], '`list`'],
  ])('%j is refused, and the nearest name is %s', async (argv, meant) => {
    const failure = await refused(...argv);
    expect(failure).toMatchObject({ code: 'USAGE_INVALID', kind: 'usage' });
    expect(failure.hint).toContain(meant);
  });

  test.each([
    [['--quiet'], 'no command'],
    [['sync', 'extra'], 'extra'],
    [['links', '--json'], 'links needs a command'],
    [['sync', '--quiet', '--verbose'], 'mutually exclusive'],
    [['sync', '--config'], 'config'],
    [['sync', '--log', 'xml'], 'xml'],
    [['backfill', '--slice', 'a'], 'from, to'],
    [['links', 'list'], 'app'],
    [['spend', 'send', '--file', 'a.csv', '--file=b.csv'], '--file was given 2 times'],
    [['links', 'create', '--app', 'a', '--name', 'A', '--name', 'b', '--name', 'A'], '--name was given 3 times'],
    [['sync', '--log', 'json', '--log', 'json', '--as-of', 'x', '--as-of', 'y'], '--log was given 2 times'],
    [['backfill', '--slice', 'a', '--slice', 'b', '--from', 'x', '--to', 'y'], '--slice was given 2 times'],
    [['init', '--dir', 'a', '--dir', 'b'], '--dir was given 2 times'],
  ])('%j is refused with its reason, %s', async (argv, reason) => {
    expect((await refused(...argv)).message).toContain(reason);
  });

  test.each([
    [['spend', 'send', '--file', 's.csv', '--dry-run=True'], '--dry-run takes no value but true or false'],
    [['links', 'create', '--app', 'a', '--name', 'b', '--dry-run=1'], '--dry-run takes no value but true or false'],
    [['links', 'create', '--app', 'a', '--name', 'b', '--dryRun='], 'Unknown argument: dryRun'],
    [['links', 'create', '--app', 'a', '--name', 'b', '-dry-run=on'], '--dry-run takes no value but true or false'],
    [['export', '--slice', 'a', '--output', '-', '--final-only=True'], '--final-only takes no value but true or false'],
    [['sync', '--help=yes'], '--help takes no value but true or false'],
    [['spend', 'send', '--file', 's.csv', '--no-dry-run'], 'Unknown argument: no-dry-run'],
    [['spend', 'send', '--file', 's.csv', '--dry-run', '--dry-run=false'], 'was given as both true and false'],
    [['spend', 'send', '--file', 's.csv', '--dry-run', 'false', '--dry-run'], 'was given as both true and false'],
    [['spend', 'send', '--file', 's.csv', '--dry-run.x=true'], 'Unknown'],
  ])('%j is refused, as nobody can say which of both is meant: %s', async (argv, reason) => {
    const failure = await refused(...argv);
    expect(failure.code).toBe('USAGE_INVALID');
    expect(failure.message).toContain(reason);
  });

  test.each([
    [['--dry-run=true']],
    [['--dry-run', 'true', '--dry-run']],
    [['--name=-dry-run=yes']],
    [['--name=--dry-run=yes']],
  ])('what is clear is taken as it stands, such as %j', async (stated) => {
    const named = stated.some((word) => word.startsWith('--name')) ? stated : ['--name', 'b', ...stated];
    const asked = await parseCommandLine(['links', 'create', '--app', 'a', ...named], VERSION);
    expect(asked.kind).toBe('act');
  });

  test.each([
    [['spend', 'send', '--file', 's.csv', '--', '--dry-run']],
    [['drop', '--slice', 'nd', '--yes', '--', '--before', '2026-01-01']],
    [['--', 'sync', '--json']],
  ])('%j is refused: what stands behind -- would be dropped in silence', async (argv) => {
    const failure = await refused(...argv);
    expect(failure.code).toBe('USAGE_INVALID');
    expect(failure.message).toContain('nothing may stand behind --');
  });

  test.each([
    [['status', '--no-html'], 'no-html'],
    [['sync', '--no-config'], 'no-config'],
    [['init', '--no-dir'], 'no-dir'],
  ])('%j is refused: %s is no option', async (argv, name) => {
    expect((await refused(...argv)).message).toContain(`Unknown argument: ${name}`);
  });

  test('--slice given 2 times where it is a list names 2 slices', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'ripen-'));
    const slice = '{name: daily, dimensions: [day], metrics: [installs], date_period: "2026-01-01:yesterday"}';
    await writeFile(join(directory, 'ripen.yaml'), `service: simulator\nwarehouse: w.duckdb\nslices: [${slice}]\n`);
    const words = ['plan', '--slice', 'a', '--slice', 'b', 'c', '--quiet', '--quiet'];
    const planning = carriedOut(recordedShell({ directory }), ...words);
    await expect(planning).rejects.toThrow('declared no slice named a, b, c');
    await rm(directory, { recursive: true });
  });

  test('the value of an unknown option is never repeated', async () => {
    const failure = await refused('sync', '--token', 'abcdef-secret');
    expect(`${failure.message} ${failure.hint}`).not.toContain('abcdef-secret');
  });
});

test.each([
  [['status', '--json'], true],
  [['status', '--json=true', '--config', '/nope.yaml'], true],
  [['status', '--json', 'true'], true],
  [['status', '--json=yes'], true],
  [['status', '--json=false'], false],
  [['status', '--json', 'false'], false],
  [['status'], false],
])('whoever wrote %j wants the failure as JSON: %j', (argv, json) => {
  expect(formAsked(argv).json).toBe(json);
});

describe('an instant on the command line', () => {
  const now = new Date('2026-02-14T12:00:00Z');

  test.each([
    ['2026-02-14T02:30:00Z', '2026-02-14T02:30:00.000Z'],
    ['2026-02-14T02:30Z', '2026-02-14T02:30:00.000Z'],
    ['2026-02-14T02:30:00.5+05:30', '2026-02-13T21:00:00.500Z'],
  ])('%s is %s', (text, instant) => {
    expect(instantOf(text, '--as-of').toISOString()).toBe(instant);
  });

  test.each(['2026-02-14', '2026-02-14T02:30:00', '2026-02-30T02:30:00Z', '2026-02-14T24:00:00Z', 'now', ''])(
    '"%s" is refused with USAGE_INVALID',
    (text) => {
      expect(() => instantOf(text, '--as-of')).toThrow(expect.objectContaining({ code: 'USAGE_INVALID' }));
    },
  );

  test('one later than the clock by a second is AS_OF_IN_FUTURE, the clock itself is not; a mistyped year is too early', () => {
    expect(() => {
      checkAsOf(new Date('2026-02-14T12:00:01Z'), now);
    }).toThrow(expect.objectContaining({ code: 'AS_OF_IN_FUTURE' }));
    expect(() => {
      checkAsOf(new Date('0026-02-14T12:00:00Z'), now);
    }).toThrow('it lay before 1970-01-01');
    expect(() => {
      checkAsOf(now, now);
      checkAsOf(null, now);
    }).not.toThrow();
  });

  test('durations have a unit', () => {
    expect(durationOf('90m', '--deadline')).toBe(5_400_000);
    expect(() => durationOf('90', '--deadline')).toThrow('--deadline was "90"');
  });

  test('--from and --to are both inclusive, and in that order', () => {
    expect(dayRange('2026-01-01', '2026-01-31')).toStrictEqual({ start: '2026-01-01', end: '2026-02-01' });
    expect(() => dayRange('2026-01-02', '2026-01-01')).toThrow('later than --to');
    expect(() => dayRange('2026-1-2', '2026-01-03')).toThrow('--from');
    expect(() => dayRange('2026-01-01', '9999-12-31')).toThrow('--to was 9999-12-31, later than the last day');
  });

  test('days to load again begin in 1970 or later: an earlier year is mistyped', () => {
    expect(() => checkForced(dayRange('1970-01-01', '2026-01-03'))).not.toThrow();
    expect(() => checkForced(dayRange('0026-01-01', '2026-01-03'))).toThrow('began on 0026-01-01, before 1970-01-01');
  });
});

describe('the nights of the tour', () => {
  test.each([
    ['2026-02-14T12:00:00Z', '2026-02-13T02:30:00.000Z', '2026-02-14T02:30:00.000Z'],
    ['2026-02-14T02:30:30Z', '2026-02-12T02:30:00.000Z', '2026-02-13T02:30:00.000Z'],
    ['2026-03-01T00:00:00Z', '2026-02-27T02:30:00.000Z', '2026-02-28T02:30:00.000Z'],
  ])('at %s are, if there are 2, %s and %s', (now, first, second) => {
    expect(nightsBefore(new Date(now), 2).map((night) => night.toISOString())).toStrictEqual([first, second]);
  });
});
