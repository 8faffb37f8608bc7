/** Completes the names of slices behind `--slice`, from the configuration the words name; prints nothing where there is none. */

import { readConfig } from '../index.ts';
import type { Act } from '../terminal/shell.ts';

export const completeSlices =
  (words: readonly string[]): Act =>
  async (shell) => {
    const [begun, file] = [words.at(-1) ?? '', words[words.indexOf('--config') + 1]];
    const place = { directory: shell.directory, environment: shell.environment, offline: true };
    const config = readConfig(words.includes('--config') && file !== undefined ? { ...place, file } : place);
    const names = await config.then(
      ({ slices }) => slices.map(({ name }) => name),
      () => [],
    );
    for (const name of names.filter((each) => each.startsWith(begun))) shell.print(name);
    return 0;
  };
