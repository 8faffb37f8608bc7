/** `ripen partners`: the partner list, straight from the service. */

import { partners as listPartners, type Partner } from '../index.ts';
import { countText } from '../terminal/measure.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';
import { tableText } from '../terminal/table.ts';
import { printResult, withConfig } from './verb.ts';

/** Prints every partner in the service's order, as JSON under the service's own names. */
export async function partners(args: GlobalArguments, shell: Shell): Promise<number> {
  const found = await withConfig(args, shell, false, listPartners);
  const listed = found.map((partner) => ({
    id: partner.id,
    display_name: partner.displayName,
    supports_cost_data: partner.supportsCostData,
  }));
  printResult(args, shell, { partners: listed }, () => partnersText(found, shell.resultColumns()));
  return 0;
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
