import type * as files from 'node:fs/promises';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { keepVersions, versionPath } from '../../src/publish/lake-versions.ts';

const links = vi.hoisted(() => ({ refusedWith: null as string | null }));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof files>();
  return {
    ...real,
    link: async (from: string, to: string) => {
      if (links.refusedWith === null) return real.link(from, to);
      throw Object.assign(new Error('no links here'), { code: links.refusedWith });
    },
  };
});

const file = { path: 'slice/day=2026-01-01/data.parquet', content: 'a-1-2' };
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'ripen-versions-'));
  await mkdir(join(root, 'slice/day=2026-01-01'), { recursive: true });
  await writeFile(join(root, file.path), 'first');
});
afterEach(async () => {
  links.refusedWith = null;
  await rm(root, { recursive: true });
});

const version = (): Promise<string> => readFile(join(root, versionPath(file.path, file.content)), 'utf8');

test.each(['EPERM', 'ENOTSUP', 'EMLINK'])('a file system that answers %s to a link gets a copy', async (code) => {
  links.refusedWith = code;
  expect(await keepVersions(root, 0o644, [file], new Set())).toBe(1);
  expect(await version()).toBe('first');
  expect((await stat(join(root, file.path))).nlink).toBe(1);
  expect(await keepVersions(root, 0o644, [file], new Set())).toBe(0);
  await writeFile(join(root, file.path), 'other');
  expect(await keepVersions(root, 0o644, [file], new Set([file.path]))).toBe(1);
  expect(await version()).toBe('other');
});

test('any other trouble with a link is thrown', async () => {
  links.refusedWith = 'ENOSPC';
  await expect(keepVersions(root, 0o644, [file], new Set())).rejects.toThrow('no links here');
});
