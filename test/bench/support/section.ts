/** What one bench found: words, tables and figures, and how they read as Markdown. Pure. */

import type { Machine } from './machine.ts';

/** In the order of the page. */
export const sectionNames = ['maturity', 'load', 'publish', 'lake'] as const;

export type SectionName = (typeof sectionNames)[number];

export interface FoundTable {
  /** What is to be read from it, as a sentence. */
  readonly caption: string;
  /** The first column is text, the others are right-aligned. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface Section {
  readonly name: SectionName;
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly tables: readonly FoundTable[];
  /** By a name that stays: what the README quotes. */
  readonly figures: Readonly<Record<string, number>>;
}

export interface Page {
  readonly machine: Machine;
  readonly sections: Readonly<Partial<Record<SectionName, Section>>>;
}

/** The page's generated part. */
export function pageText({ machine, sections }: Page): string {
  const { cores, memory_gib: memory, node, duckdb } = machine;
  const parts = sectionNames.flatMap((name) => {
    const section = sections[name];
    return section === undefined ? [] : [sectionText(section)];
  });
  return [`Measured on ${cores} cores, ${memory} GiB of memory, Node ${node}, DuckDB ${duckdb}.`, ...parts].join(
    '\n\n',
  );
}

export function sectionText({ title, paragraphs, tables }: Section): string {
  return [`## ${title}`, ...paragraphs, ...tables.map((table) => tableText(table))].join('\n\n');
}

function tableText({ caption, columns, rows }: FoundTable): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = columns.map((_, index) => (index === 0 ? '---' : '--:'));
  return [`${caption}\n`, line(columns), line(rule), ...rows.map((row) => line(row))].join('\n');
}

const START = '<!-- bench: begin -->';
const END = '<!-- bench: end -->';

/** A page with its generated part put between its markers; one without markers gets them at its end. */
export function betweenMarkers(page: string, generated: string): string {
  const from = page.indexOf(START);
  const to = page.indexOf(END);
  const block = `${START}\n\n${generated}\n\n${END}`;
  if (from === -1 || to < from) return `${page.trimEnd()}\n\n${block}\n`;
  return page.slice(0, from) + block + page.slice(to + END.length);
}
