// Draws the rooms of src, their sizes and imports into docs/internals/architecture.md; with --check only compares, and exits 1 when stale.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../../src/', import.meta.url));
const page = new URL('../../docs/internals/architecture.md', import.meta.url);
/** Their subfolders are rooms of their own. */
const divided = new Set(['report', 'warehouse']);
/** Imported nearly everywhere, so that their arrows would say nothing. */
const common = new Set(['errors', 'events', 'model', 'config']);
const KB_STEP = 10;

const roomOf = (path) => {
  const [first, second, ...deeper] = path.split('/');
  if (deeper.length > 0 && divided.has(first)) return `${first}/${second}`;
  return first.replace(/\.ts$/, '');
};

const rooms = new Map();
for (const entry of readdirSync(src, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const path = relative(src, join(entry.parentPath, entry.name));
  const text = readFileSync(join(src, path), 'utf8');
  const name = roomOf(path);
  const room = rooms.get(name) ?? { bytes: 0, imports: new Set() };
  rooms.set(name, room);
  room.bytes += text.length;
  for (const [, target] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
    const imported = roomOf(relative(src, join(src, dirname(path), target)));
    if (imported !== name && !common.has(imported)) room.imports.add(imported);
  }
}

/** Whether one room reaches another through a third: such an arrow is left out. */
const reaches = (from, to, seen = new Set()) =>
  [...rooms.get(from).imports].some(
    (next) =>
      next === to || (!seen.has(next) && !common.has(next) && reaches(next, to, seen.add(next))),
  );
const byName = (one, other) => one.localeCompare(other);
const id = (name) => name.replace('/', '_');
const names = [...rooms.keys()].toSorted(byName);
const drawn = [
  'flowchart TD',
  ...names.map((name) => {
    // Rounded, so that not every change draws the picture anew.
    const kB = Math.max(KB_STEP, KB_STEP * Math.round(rooms.get(name).bytes / 1000 / KB_STEP));
    return `  ${id(name)}["${name} ${kB} kB"]`;
  }),
  ...names.flatMap((from) =>
    [...rooms.get(from).imports]
      .toSorted(byName)
      .filter(
        (to) => ![...rooms.get(from).imports].some((next) => next !== to && reaches(next, to)),
      )
      .map((to) => `  ${id(from)} --> ${id(to)}`),
  ),
].join('\n');

const text = readFileSync(page, 'utf8');
const fresh = text.replace(/```mermaid\n[\s\S]*?```/, `\`\`\`mermaid\n${drawn}\n\`\`\``);
if (!process.argv.includes('--check')) writeFileSync(page, fresh);
else if (fresh !== text) {
  process.stderr.write(
    'The picture of docs/internals/architecture.md is stale; run: npm run generated\n',
  );
  process.exitCode = 1;
}
