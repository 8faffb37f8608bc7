/** What surrounds the process: a directory that is gone, an output that takes nothing, paths that are taken. */

import { mkdir, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';

import { beforeEach, expect, test } from 'vitest';

import { cli, openInstallation, startProcess, type Installation } from '../support/installation.ts';

let installation: Installation;

beforeEach(async () => {
  installation = await openInstallation();
  await installation.configure({ service: 'simulator', warehouse: 'w.duckdb' });
});

test('in a directory that was removed every command is refused with 78, in JSON where that was asked for', async () => {
  const gone = installation.path('gone');
  await mkdir(gone);
  const { code, out, err } = await startProcess(
    '/bin/sh',
    ['-c', `rmdir "$PWD" && exec "$0" "$1" status --json`, process.execPath, cli],
    gone,
  ).ended;
  expect({ code, isTrace: err.includes('    at ') }).toEqual({ code: 78, isTrace: false });
  expect(JSON.parse(out)).toMatchObject({ status: 'failed', failures: [{ code: 'USAGE_INVALID' }] });
  await rm(gone, { recursive: true, force: true });
});

test.skipIf(!existsSync('/dev/full'))('a result that stdout does not take ends the command with 74', async () => {
  for (const command of ['status', 'status --json', '--version']) {
    const script = `exec "$0" "$1" ${command} > /dev/full`;
    const { code, err } = await startProcess('/bin/sh', ['-c', script, process.execPath, cli], installation.directory)
      .ended;
    expect({ command, code }).toEqual({ command, code: 74 });
    expect(err).toContain('STORAGE_FAILED: The result could not be written to stdout');
  }
});

test('a simulator is refused a port or a seed that is no whole number', async () => {
  for (const option of ['--port=abc', '--port=65536', '--seed=1.5']) {
    const { code, err } = await installation.run(['simulator', option]);
    expect({ option, code }).toEqual({ option, code: 78 });
    expect(err).toContain('no whole number from 0 to');
  }
});
