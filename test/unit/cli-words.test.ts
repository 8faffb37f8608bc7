import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { requestedForm, parseCommandLine } from '../../src/commands/command-line.ts';
import { dayRange, durationOf, instantOf } from '../../src/commands/verb.ts';
import { verbs } from '../../src/commands/words.ts';
import { Failure } from '../../src/errors.ts';
import { LOCK_WAIT_MS } from '../../src/model/duration.ts';
import { checkAsOf, checkForced } from '../../src/run/circumstances.ts';
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
  const requested = await parseCommandLine(argv, VERSION);
  if (requested.kind !== 'text') throw new Error('a command was chosen');
  return requested.text;
}

const commands = [...Object.keys(verbs), 'links', 'spend', 'completion'].map((name) =>
  name.split(' '),
);

describe('help', () => {
  test.each([[], ...commands])(
    '%s %s fits a screen of 24 lines and 80 columns, and ends with an example',
    async (...words) => {
      const lines = (await printed(...words, '--help')).split('\n');
      expect(lines.length).toBeLessThanOrEqual(24);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
      expect(lines.at(-1)).toMatch(new RegExp(`^Example: ripen ${words.join(' ')}`));
      const [own, shared] = [lines.indexOf('Options:'), lines.indexOf('For every command:')];
      expect(own === -1 || shared === -1 || own < shared).toBe(true);
    },
  );

  test('of ripen itself names every command', async () => {
    const text = await printed('--help');
    for (const [command] of commands) expect(text).toContain(`ripen ${command}`);
  });

  test('of the 8 commands that wait for another run names the wait that the library has', async () => {
    const waits: number[] = [];
    for (const words of commands) {
      const [, wait] =
        /--lock-wait .*\[default: "(.*)"\]/.exec(await printed(...words, '--help')) ?? [];
      if (wait !== undefined) waits.push(durationOf(wait, '--lock-wait'));
    }
    expect(waits).toEqual(Array.from({ length: 8 }, () => LOCK_WAIT_MS));
  });

  test('offers no way to give a token', async () => {
    for (const words of commands)
      expect(await printed(...words, '--help')).not.toMatch(/--\S*(token|secret|password)/);
  });

  test.each([[[]], [['links']], [['spend']]])(
    '%j alone is answered with help, as a command is missing',
    async (words) => {
      const text = await printed(...words, '--help');
      expect(await parseCommandLine(words, VERSION)).toStrictEqual({ kind: 'missing', text });
    },
  );

  test('--version prints the version and nothing else', async () => {
    expect(await printed('--version')).toBe(VERSION);
  });

  test('completion prints a script, and its words begin as typed', async () => {
    expect(await printed('completion')).toContain('default -F _ripen_yargs_completions ripen');
    const completed = async (...words: string[]): Promise<string[]> =>
      (await printed('--get-yargs-completions', 'ripen', ...words)).split('\n');
    expect(await completed('s')).toContain('sync');
    expect(await completed('status', '--')).toEqual(
      expect.arrayContaining(['--html', '--config', '--as-of']),
    );
    expect(await completed('links', '')).toEqual(['list', 'create', 'update']);
  });
});

describe('in a directory with a configuration', () => {
  let directory = '';

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ripen-words-'));
    await writeFile(join(directory, 'ripen.yaml'), 'service: simulator\n');
    return async () => rm(directory, { recursive: true });
  });

  test('--slice given 2 times where it is a list names 2 slices', async () => {
    const words = ['plan', '--slice', 'a', '--slice', 'b', 'c', '--quiet', '--quiet'];
    const planning = carriedOut(recordedShell({ directory }), ...words);
    await expect(planning).rejects.toThrow('has no slice named a, b, c');
  });
});

describe('the command line', () => {
  test.each([
    [['snyc'], '`sync`'],
    [['backfil', '--slice', 'a'], '`backfill`'],
    [['sync', '--slise', 'a'], '`--slice`'],
    [['links', 'lst', '--app', 'a'], '`list`'],
  ])('%j is refused, and the nearest name is %s', async (argv, meant) => {
    const hint: unknown = expect.stringContaining(meant);
    expect(await refused(...argv)).toMatchObject({ code: 'USAGE_INVALID', kind: 'usage', hint });
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
    [
      ['links', 'create', '--app', 'a', '--name', 'A', '--name', 'b', '--name', 'A'],
      '--name was given 3 times',
    ],
    [
      ['backfill', '--slice', 'a', '--slice', 'b', '--from', 'x', '--to', 'y'],
      '--slice was given 2 times',
    ],
    [
      ['spend', 'send', '--file', 's.csv', '--dry-run=True'],
      '--dry-run takes no value but true or false',
    ],
    [['spend', 'send', '--file', 's.csv', '--dryRun='], 'Unknown argument: dryRun'],
    [
      ['export', '--slice', 'a', '--output', '-', '--final-only=True'],
      '--final-only takes no value but true or false',
    ],
    [['sync', '--help=yes'], '--help takes no value but true or false'],
    [['spend', 'send', '--file', 's.csv', '--no-dry-run'], 'Unknown argument: no-dry-run'],
    [
      ['spend', 'send', '--file', 's.csv', '--dry-run', '--dry-run=false'],
      'was given as both true and false',
    ],
    [['spend', 'send', '--file', 's.csv', '--dry-run.x=true'], 'Unknown'],
    // What stands behind -- would be dropped in silence.
    [['spend', 'send', '--file', 's.csv', '--', '--dry-run'], 'nothing may stand behind --'],
    [['--', 'sync', '--json'], 'nothing may stand behind --'],
    [['status', '--no-html'], 'Unknown argument: no-html'],
  ])('%j is refused with its reason, %s', async (argv, reason) => {
    const message: unknown = expect.stringContaining(reason);
    expect(await refused(...argv)).toMatchObject({ code: 'USAGE_INVALID', message });
  });

  test('the value of an unknown option is never repeated', async () => {
    const failure = await refused('sync', '--token', 'abcdef-secret');
    expect(`${failure.message} ${failure.hint}`).not.toContain('abcdef-secret');
  });
});

test.each([
  [['status', '--json'], true],
  [['status', '--json=true', '--config', '/nope.yaml'], true],
  [['status', '--json=yes'], true],
  [['status', '--json=false'], false],
  [['status'], false],
])('whoever wrote %j wants the failure as JSON: %j', (argv, json) => {
  expect(requestedForm(argv).json).toBe(json);
});

describe('an instant on the command line', () => {
  const now = new Date('2026-02-14T12:00:00Z');

  test.each([
    ['2026-02-14T02:30:00Z', '2026-02-14T02:30:00.000Z'],
    ['2026-02-14T02:30:00.5+05:30', '2026-02-13T21:00:00.500Z'],
  ])('%s is %s', (text, instant) => {
    expect(instantOf(text, '--as-of').toISOString()).toBe(instant);
  });

  test.each([
    '2026-02-14',
    '2026-02-14T02:30:00',
    '2026-02-30T02:30:00Z',
    '2026-02-14T24:00:00Z',
    'now',
    '',
  ])('"%s" is refused with USAGE_INVALID', (text) => {
    expect(() => instantOf(text, '--as-of')).toThrow(
      expect.objectContaining({ code: 'USAGE_INVALID' }),
    );
  });

  test('one later than the clock by a second is AS_OF_IN_FUTURE, the clock itself is not; a mistyped year is too early', () => {
    expect(() => {
      checkAsOf(new Date('2026-02-14T12:00:01Z'), now);
    }).toThrow(expect.objectContaining({ code: 'AS_OF_IN_FUTURE' }));
    expect(() => {
      checkAsOf(new Date('0026-02-14T12:00:00Z'), now);
    }).toThrow('is before 1970-01-01');
    expect(() => {
      checkAsOf(now, now);
      checkAsOf(null, now);
    }).not.toThrow();
  });

  test('durations have a unit', () => {
    expect(durationOf('90m', '--deadline')).toBe(5_400_000);
    expect(() => durationOf('90', '--deadline')).toThrow('--deadline must be a duration; got "90"');
  });

  test('--from and --to are both inclusive, and in that order', () => {
    expect(dayRange('2026-01-01', '2026-01-31')).toStrictEqual({
      start: '2026-01-01',
      end: '2026-02-01',
    });
    expect(() => dayRange('2026-01-02', '2026-01-01')).toThrow('later than --to');
    expect(() => dayRange('2026-1-2', '2026-01-03')).toThrow('--from');
    expect(() => dayRange('2026-01-01', '9999-12-31')).toThrow(
      '--to was 9999-12-31, later than the last day',
    );
  });

  test('days to load again begin in 1970 or later: an earlier year is mistyped', () => {
    expect(() => checkForced(dayRange('1970-01-01', '2026-01-03'))).not.toThrow();
    expect(() => checkForced(dayRange('0026-01-01', '2026-01-03'))).toThrow(
      'began on 0026-01-01, before 1970-01-01',
    );
  });
});
