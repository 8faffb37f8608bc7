/** What one bench found, printed as Markdown, and written into `docs/internals/benchmarks.md` and its `.json`. */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { stdout, versions } from 'node:process';
import { fileURLToPath } from 'node:url';

import { version } from '@duckdb/node-api';
import * as z from 'zod';

import { isSmall } from './scale.ts';

const root = new URL('../../../', import.meta.url);
const formatter = fileURLToPath(new URL('node_modules/.bin/oxfmt', root));
const pageFile = fileURLToPath(new URL('docs/internals/benchmarks.md', root));
const figuresFile = fileURLToPath(new URL('docs/internals/benchmarks.json', root));

/** In the order of the page. */
const sectionNames = ['maturity', 'load', 'publish', 'lake'] as const;

/** The caption is a sentence. The first column is text, the others are right-aligned. */
const table = z.object({
  caption: z.string(),
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string())),
});
export type FoundTable = z.infer<typeof table>;

/** Figures go by a name that stays: what the README quotes. */
const section = z.object({
  name: z.enum(sectionNames),
  title: z.string(),
  paragraphs: z.array(z.string()),
  tables: z.array(table),
  figures: z.record(z.string(), z.number()),
});
type Section = z.infer<typeof section>;

const page = z.object({
  machine: z.object({
    cores: z.number(),
    memory_gib: z.number(),
    node: z.string(),
    duckdb: z.string(),
  }),
  sections: z.partialRecord(z.enum(sectionNames), section),
});
type Page = z.infer<typeof page>;

/** The machine, in the words that matter for its figures and no others. */
function describeMachine(): Page['machine'] {
  const memory = Math.round(totalmem() / 2 ** 30);
  return {
    cores: availableParallelism(),
    memory_gib: memory,
    node: versions.node,
    duckdb: version().replace(/^v/, ''),
  };
}

/** Prints a section; at full size also replaces it on the page, from which figures of another machine disappear. */
export function publishSection(found: Section): void {
  stdout.write(`\n${sectionText(found)}\n`);
  if (isSmall) return;
  const machine = describeMachine();
  const known = page.parse(JSON.parse(readFileSync(figuresFile, 'utf8')));
  const isSame = JSON.stringify(known.machine) === JSON.stringify(machine);
  const next: Page = {
    machine,
    sections: { ...(isSame ? known.sections : {}), [found.name]: found },
  };
  writeFileSync(figuresFile, `${JSON.stringify(next, null, 2)}\n`);
  writeFileSync(pageFile, betweenMarkers(readFileSync(pageFile, 'utf8'), pageText(next)));
  // What is checked in is held to the format of everything else.
  execFileSync(formatter, [pageFile, figuresFile]);
}

/** The page's generated part. */
function pageText({ machine, sections }: Page): string {
  const { cores, memory_gib: memory, node, duckdb } = machine;
  const opening = `Measured on ${cores} cores, ${memory} GiB of memory, Node ${node}, DuckDB ${duckdb}.`;
  const found = sectionNames.flatMap((name) => sections[name] ?? []);
  return [opening, ...found.map(sectionText)].join('\n\n');
}

function sectionText({ title, paragraphs, tables }: Section): string {
  return [`## ${title}`, ...paragraphs, ...tables.map(tableText)].join('\n\n');
}

function tableText({ caption, columns, rows }: FoundTable): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = columns.map((_, index) => (index === 0 ? '---' : '--:'));
  return [`${caption}\n`, line(columns), line(rule), ...rows.map(line)].join('\n');
}

/** A page with its generated part put between its markers. */
function betweenMarkers(text: string, generated: string): string {
  const [before = '', rest = ''] = text.split('<!-- bench: begin -->');
  const [, after = ''] = rest.split('<!-- bench: end -->');
  return `${before}<!-- bench: begin -->\n\n${generated}\n\n<!-- bench: end -->${after}`;
}
