import { writeFile } from 'node:fs/promises';
import { test } from 'vitest';
import { makeCorpus, writeFiles } from './load/corpus.ts';
import { readJsonOnly } from './load/limits.ts';
import { serveCorpus } from './load/serve-corpus.ts';
test(
  'serve',
  async () => {
    const corpus = await makeCorpus('/tmp/zzcorpus', 807);
    const server = await serveCorpus(corpus, { delayMs: 0, mostDays: 10_000 });
    const lines = await writeFiles(corpus, 1240, 'lines');
    console.log(await readJsonOnly(lines, 'lines'));
    console.log(await readJsonOnly(lines, 'lines'));
    await writeFile('/tmp/zz-origin', server.origin);
    await new Promise((r) => setTimeout(r, 3 * 3600_000));
  },
  4 * 3600_000,
);
