/** The lint rule of our own, by the linter itself, on what it is to refuse and to leave. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';
import * as z from 'zod';

const root = fileURLToPath(new URL('../../', import.meta.url));

const refused = [
  'x += await f();',
  'x += (await g()).n;',
  'x -= x > 0 ? 0 : await f();',
  'o.n += (await f()) * 2;',
  'x = x + (await f());',
  'o.list = [...o.list, await f()];',
  'all.forEach(async () => { x += await f(); });',
];
const left = [
  'x = await f();',
  'x = await f(x);',
  'x = (await f()) + x;',
  'xs = ax + (await f());',
  'const y = await f(); x += y;',
  'o.later ??= async () => await f();',
];

test(`an update of what was read before its own await is refused in all of ${refused.length} forms, and ${left.length} others are left`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'ripen-lint-'));
  try {
    const file = join(directory, 'sample.mjs');
    writeFileSync(file, [...refused, ...left].map((line) => `${line}\n`).join(''));
    const linter = spawnSync(
      process.execPath,
      [join(root, 'node_modules/oxlint/bin/oxlint'), '-c', join(root, '.oxlintrc.json'), '--format', 'json', file],
      { cwd: root, encoding: 'utf8' },
    );
    const found = z
      .object({
        diagnostics: z.array(
          z.object({
            code: z.string().optional(),
            labels: z.array(z.object({ span: z.object({ line: z.number() }) })),
          }),
        ),
      })
      .parse(JSON.parse(linter.stdout));
    const lines = found.diagnostics
      .filter(({ code }) => code === 'ripen(no-update-across-await)')
      .map(({ labels }) => labels[0]?.span.line);
    expect(lines).toEqual(refused.map((_, index) => index + 1));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
