/** `ripen replay`: once more what the archive holds, without the service. */

import { replay as replayArchive } from '../index.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { reported } from './sync.ts';
import { withConfig } from './verb.ts';

export interface ReplayArguments extends GlobalArguments {
  readonly slice: readonly string[] | undefined;
  readonly lockWait: string;
}

/** Loads the archived answers of the named slices, or of all, publishes, and prints the summary. */
export async function replay(args: ReplayArguments, shell: Shell): Promise<number> {
  const summary = await withConfig(args, shell, true, async (config, stated) =>
    replayArchive(config, { ...stated, slices: args.slice }),
  );
  return reported(summary, args, shell);
}
