/** `ripen partners`: the partner list, straight from the service. */

import type { Partner } from '../model/link.ts';
import { allPages, askService } from './ask.ts';
import { countText } from '../terminal/measure.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { tableText } from '../terminal/table.ts';

/** Prints every partner in the service's order. */
export async function partners(args: GlobalArguments, shell: Shell): Promise<number> {
  return askService(args, shell, {
    name: 'partners',
    ask: async (service, signal) => allPages(service.partners(signal)),
    asText: partnersText,
    asFields: (partner) => ({
      id: partner.id,
      display_name: partner.displayName,
      supports_cost_data: partner.supportsCostData,
    }),
  });
}

function partnersText(found: readonly Partner[], terminal: number | null): string {
  const rows = found.map((partner) => [partner.id, partner.displayName, partner.supportsCostData ? 'yes' : 'no']);
  const columns = [
    { title: 'id', align: 'right' },
    { title: 'partner', shrinks: true },
    { title: 'cost data' },
  ] as const;
  return `${tableText(columns, rows, terminal)}\n${countText(found.length, 'partner')}`;
}
