/** Completes the names of slices behind `--slice`, from the configuration the words name; prints nothing where there is none. */

import { readConfig } from '../index.ts';
import type { Shell } from '../terminal/shell.ts';

export async function completeSlices(words: readonly string[], shell: Shell): Promise<number> {
  const { directory, environment } = shell;
  const [begun, file] = [words.at(-1) ?? '', words[words.indexOf('--config') + 1]];
  const named = words.includes('--config') && file !== undefined ? { file } : {};
  const config = await readConfig({ directory, environment, offline: true, ...named }).catch(() => null);
  for (const { name } of config?.slices ?? []) if (name.startsWith(begun)) shell.print(name);
  return 0;
}
