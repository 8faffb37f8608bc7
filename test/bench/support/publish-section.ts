/** Prints what a bench found, and writes it into `docs/internals/benchmarks.md` and its `.json`. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { stdout } from 'node:process';
import { fileURLToPath } from 'node:url';

import * as z from 'zod';

import { describeMachine } from './machine.ts';
import { isSmall } from './scale.ts';
import { betweenMarkers, pageText, sectionNames, sectionText, type Page, type Section } from './section.ts';

const docs = new URL('../../../docs/internals/', import.meta.url);
const formatter = fileURLToPath(new URL('../../../node_modules/.bin/oxfmt', import.meta.url));
const pageFile = fileURLToPath(new URL('benchmarks.md', docs));
const figuresFile = fileURLToPath(new URL('benchmarks.json', docs));

const opening = `# Benchmarks

What \`npm run bench\` printed last; the part between the markers is written by it. Counts are exact and the same on every
machine. Times are not: the machine was shared with other work, so compare what stands side by side in one table, which
was measured by turns in one run, and nothing else.
`;

const tableShape = z.object({
  caption: z.string(),
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string())),
});
const sectionShape = z.object({
  name: z.enum(sectionNames),
  title: z.string(),
  paragraphs: z.array(z.string()),
  tables: z.array(tableShape),
  figures: z.record(z.string(), z.number()),
});
const pageShape = z.object({
  machine: z.object({ cores: z.number(), memory_gib: z.number(), node: z.string(), duckdb: z.string() }),
  sections: z.record(z.string(), sectionShape),
});

/** Prints a section; at full size also replaces it on the page, from which figures of another machine disappear. */
export function publishSection(section: Section): void {
  stdout.write(`\n${sectionText(section)}\n`);
  if (isSmall) return;
  const machine = describeMachine();
  const known = readPage();
  const isSame = known !== null && JSON.stringify(known.machine) === JSON.stringify(machine);
  const page: Page = { machine, sections: { ...(isSame ? known.sections : {}), [section.name]: section } };
  mkdirSync(docs, { recursive: true });
  writeFileSync(figuresFile, `${JSON.stringify(page, null, 2)}\n`);
  const before = existsSync(pageFile) ? readFileSync(pageFile, 'utf8') : opening;
  writeFileSync(pageFile, betweenMarkers(before, pageText(page)));
  // What is checked in is held to the format of everything else.
  execFileSync(formatter, [pageFile, figuresFile]);
}

function readPage(): Page | null {
  return existsSync(figuresFile) ? pageShape.parse(JSON.parse(readFileSync(figuresFile, 'utf8'))) : null;
}
