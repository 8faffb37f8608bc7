/** `ripen links update`: the partner of a link, or its cost data setting. */

import { updateLink } from '../links/write-link.ts';
import { writeLink } from './links-create.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';

export interface LinksUpdateArguments extends GlobalArguments {
  readonly app: string;
  readonly link: string;
  readonly partner: string | undefined;
  readonly costData: 'true' | 'false' | undefined;
  readonly lockWait: string;
}

/** Changes the link and prints it as the service then has it. */
export async function linksUpdate(args: LinksUpdateArguments, shell: Shell): Promise<number> {
  const { app, link, partner, costData } = args;
  const change = {
    ...(partner === undefined ? {} : { partnerId: partner }),
    ...(costData === undefined ? {} : { costDataEnabled: costData === 'true' }),
  };
  return writeLink(args, shell, (writing) => updateLink(writing, app, link, change));
}
