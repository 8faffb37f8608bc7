/**
 * Which test proves what of everything that the service's interface names.
 *
 * `docs/interface.md` is made from this table; a test holds table, names, page and test files against each other.
 */

import { campaignRows } from './endpoints-campaign.ts';
import { interfaceParts, type InterfaceRow } from './endpoints-names.ts';
import { reportRows } from './endpoints-reports.ts';

/** Every row, in the order of the parts. */
export const interfaceRows: readonly InterfaceRow[] = interfaceParts.flatMap((part) =>
  [...campaignRows, ...reportRows].filter((row) => row.part === part),
);

/** `docs/interface.md`: a heading for every part, a line for every row. */
export function interfacePage(rows: readonly InterfaceRow[]): string {
  const line = ({ kind, names, what, proofs }: InterfaceRow): string => {
    const shown = names.map((name) => (kind === 'rule' || kind === 'status' ? name : `\`${name}\``)).join(', ');
    const tests = proofs.map(([file, title]) => `[${file.replace('.test.ts', '')}](../test/${file}) “${title}”`);
    return `- **${kind} ${shown}.** ${capitalized(what)}. Proven by ${tests.join('; ')}.`;
  };
  const parts = interfaceParts.map(
    (part) =>
      `## ${part}\n\n${rows
        .filter((row) => row.part === part)
        .map(line)
        .join('\n')}\n`,
  );
  return `# The interface, name by name

Every endpoint, parameter, field and status that the service's interface documents, what ripen does with it, and the tests
that prove it. Which command asks which endpoint is in [endpoints.md](endpoints.md). Made from
\`test/support/endpoints-table.ts\` by \`npx vitest -u\`; a test holds this page, the table and the test files against each
other. \`%s\` and \`$name\` stand for the cases of a test.

${parts.join('\n')}`;
}

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
