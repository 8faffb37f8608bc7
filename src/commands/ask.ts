/** What `catalog`, `partners` and `links list` share: one question to the service, its answer printed. */

import type { Emit } from '../events.ts';
import type { Service } from '../service/service.ts';
import { asOfInstant } from './instant.ts';
import { openConfig } from './open-config.ts';
import { simulatedNow, withService } from '../run/service-in-use.ts';
import { jsonLine } from '../terminal/printable.ts';
import { openProgress } from '../terminal/progress.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';

/** Prints what the service answered: as JSON `{[name]: items}`, else as `asText` says it. */
export async function askService<T>(
  args: GlobalArguments,
  shell: Shell,
  question: {
    readonly name: string;
    readonly ask: (service: Service, signal: AbortSignal, emit: Emit) => Promise<readonly T[]>;
    /** For a terminal of so many columns; null where the text goes to a file or a program. */
    readonly asText: (answer: readonly T[], terminal: number | null) => string;
    /** An item under the service's own names. */
    readonly asFields: (item: T) => object;
  },
): Promise<number> {
  const config = await openConfig(args, shell);
  const at = asOfInstant(args.asOf, shell.now()) ?? simulatedNow(config) ?? shell.now();
  const progress = openProgress(args, shell);
  const answer = await withService(config, at, progress.emit, async (service) =>
    question.ask(service, shell.signal, progress.emit),
  ).finally(() => {
    progress.close();
  });
  shell.print(
    args.json
      ? jsonLine({ [question.name]: answer.map((item) => question.asFields(item)) })
      : question.asText(answer, shell.resultColumns()),
  );
  return 0;
}

/** Every item of every page, in the service's order. */
export async function allPages<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}
