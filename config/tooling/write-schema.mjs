// Writes config/ripen.schema.json from the settings; with --check only compares and exits 1 when it is stale.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { configJsonSchema } from '../../src/config/schema-views.ts';

const file = new URL('../ripen.schema.json', import.meta.url);
const text = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;

if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
} else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
  process.stderr.write(
    'config/ripen.schema.json is stale; run: node config/tooling/write-schema.mjs\n',
  );
  process.exitCode = 1;
}
