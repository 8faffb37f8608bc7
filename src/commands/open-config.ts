/** Finds and reads the configuration a command works on. */

import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import type { Shell } from '../terminal/shell.ts';

/**
 * The configuration that `--config` names, else `./ripen.yaml`; `offline` one that may lack its credentials. Throws
 * `CONFIG_MISSING` and `CONFIG_INVALID`.
 */
export async function openConfig(
  options: { readonly config: string | undefined },
  shell: Pick<Shell, 'directory' | 'environment'>,
  { offline = false }: { readonly offline?: boolean } = {},
): Promise<Config> {
  return readConfig({
    ...(options.config === undefined ? {} : { file: options.config }),
    directory: shell.directory,
    environment: shell.environment,
    offline,
  });
}
