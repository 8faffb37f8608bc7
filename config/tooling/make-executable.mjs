// npm marks a package's `bin` executable when it is installed from a registry, not in a clone.
import { chmodSync } from 'node:fs';

chmodSync(new URL('../../dist/cli.js', import.meta.url), 0o755);
