import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { openColumnReader } from '../../src/spool/columns/column-reader.ts';
test('x', async () => {
  const d = await mkdtemp(join(tmpdir(), 'x-'));
  const r = openColumnReader();
  await writeFile(join(d, 'a.json'), '{"rows":[{"day":"2026-01-01","installs":"5"}]}');
  const t = performance.now();
  console.log(await r.read({ bodies: [{ path: join(d, 'a.json'), encoding: 'identity' }], columns: { dimensions: [{ name: 'day', kind: 'day' }], metrics: [{ name: 'installs', type: { kind: 'BIGINT' } }] }, to: join(d, 'a.parquet') }), performance.now() - t);
  await r.close();
});
