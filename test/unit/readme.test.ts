import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';
import * as z from 'zod';

import { parseConfig } from '../../src/config/read-config.ts';
import { exitCodes } from '../../src/errors.ts';
import { commandNames } from '../../src/commands/verbs.ts';

const figuresShape = z.object({
  ripen_rows: z.number(),
  lookback_rows: z.number(),
  immature_rows: z.number(),
  lookback_frozen_cells: z.number(),
  wrong_final_cells: z.number(),
});
const loadShape = z.object({ rows_per_second: z.number(), times_the_limit_cpu: z.number(), peak_mib: z.number() });
const backfillShape = z.object({ sent_mib: z.number(), peak_mib: z.number() });
const measurements = z.object({
  sections: z.object({
    maturity: z.object({ figures: figuresShape }),
    load: z.object({ figures: loadShape }),
    backfill: z.object({ figures: backfillShape }),
  }),
});

const root = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');
const blocks = [...readme.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, language = '', text = '']) => ({
  language,
  text,
}));

test('the configuration on the front page parses as it stands', () => {
  const yaml = blocks.find(({ language }) => language === 'yaml')?.text ?? '';
  const config = parseConfig(yaml, {
    file: 'ripen.yaml',
    directory: '/somewhere',
    environment: { RIPEN_TOKEN: 'a-token' },
  });
  expect(config.slices.map(({ name }) => name)).toEqual(['network_daily']);
});

test('every command that can be given is on the front page', () => {
  for (const name of commandNames.filter((command) => command !== 'completion')) {
    expect(readme, name).toMatch(new RegExp(`\`ripen (links |spend )?${name}\\b`));
  }
});

test('every exit code stands in the table', () => {
  for (const code of Object.values(exitCodes)) expect(readme).toMatch(new RegExp(`^\\| ${code} +\\|`, 'm'));
});

test('the figures on the front page are those the bench measured last', () => {
  const measured = measurements.parse(JSON.parse(readFileSync(new URL('docs/benchmarks.json', root), 'utf8')));
  const { maturity, load, backfill } = measured.sections;
  const { figures } = maturity;
  const grouped = (count: number): string => count.toLocaleString('en-US');
  for (const rows of [
    figures.ripen_rows,
    figures.lookback_rows,
    figures.immature_rows,
    figures.lookback_frozen_cells,
    load.figures.rows_per_second,
    load.figures.times_the_limit_cpu,
    load.figures.peak_mib,
    backfill.figures.sent_mib,
    backfill.figures.peak_mib,
  ]) {
    expect(readme).toContain(grouped(rows));
  }
  expect(figures.wrong_final_cells).toBe(0);
});
