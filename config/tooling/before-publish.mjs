// Refuses to publish a package that does not say where it comes from.

import { readFileSync } from 'node:fs';

const stated = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const missing = ['repository', 'homepage', 'bugs'].filter((field) => stated[field] === undefined);
if (missing.length > 0) {
  process.stderr.write(
    `package.json does not state ${missing.join(', ')}. State the address of the repository before the first release.\n`,
  );
  process.exitCode = 1;
}
