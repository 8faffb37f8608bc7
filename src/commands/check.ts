/** `ripen check`: everything that can be known to be wrong before a sync, at once; writes nothing. */

import type { Config } from '../config/config.ts';
import { exitCodeOf } from '../errors.ts';
import type { Emit } from '../events.ts';
import type { CatalogFilter } from '../model/catalog.ts';
import type { Service } from '../service/service.ts';
import { placeFindings } from './check-places.ts';
import { checkedFilters, sliceFindings } from './check-slice.ts';
import { failuresAmong, findingOf, findingsText, type Finding } from './finding.ts';
import { asOfInstant } from './instant.ts';
import { openConfig, simulatedNow, withService } from './open.ts';
import { jsonLine } from './printable.ts';
import { openProgress } from './progress/progress.ts';
import type { GlobalArguments, Shell } from './shell.ts';

/** Prints every finding; resolves to the exit code of the gravest error, 0 for warnings alone. */
export async function check(args: GlobalArguments, shell: Shell): Promise<number> {
  const config = await openConfig(args, shell);
  const at = asOfInstant(args.asOf, shell.now()) ?? simulatedNow(config) ?? shell.now();
  const progress = openProgress(args, shell);
  const findings = await findingsOf(config, at, progress.emit, shell.signal).finally(() => {
    progress.close();
  });
  shell.print(args.json ? jsonLine({ findings }) : findingsText(findings));
  return exitCodeOf(failuresAmong(findings));
}

/** Everything wrong or odd about a readable configuration: places, service, token and every slice. */
export async function findingsOf(config: Config, at: Date, emit: Emit, signal: AbortSignal): Promise<Finding[]> {
  const [places, service] = await Promise.all([
    placeFindings(config, signal),
    serviceFindings(config, at, emit, signal),
  ]);
  return [...places, ...service, ...leftToService(config)];
}

async function serviceFindings(config: Config, at: Date, emit: Emit, signal: AbortSignal): Promise<Finding[]> {
  return orFinding(signal, () =>
    withService(config, at, emit, async (service) => {
      const found = await orFinding(signal, () => reportFindings(config, service, signal));
      // One token opens both; that it does not is told once.
      const isRefused = found.some(({ code }) => code === 'CREDENTIALS_REFUSED');
      if (isRefused || (!config.partners && config.links === null)) return found;
      return [...found, ...(await orFinding(signal, () => campaignFindings(service, signal)))];
    }),
  );
}

async function reportFindings(config: Config, service: Service, signal: AbortSignal): Promise<Finding[]> {
  const { items, absent } = await service.filtersData({ filters: checkedFilters }, signal);
  return [...absent.map(absentFinding), ...config.slices.flatMap((slice) => sliceFindings(slice, items))];
}

/** The campaign API lies at an address of its own; its shortest list shows whether it answers. */
async function campaignFindings(service: Service, signal: AbortSignal): Promise<Finding[]> {
  await service.partners(signal).next();
  return [];
}

async function orFinding(signal: AbortSignal, find: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await find();
  } catch (thrown) {
    signal.throwIfAborted();
    return [findingOf(thrown)];
  }
}

function absentFinding(filter: CatalogFilter): Finding {
  return {
    severity: 'warning',
    code: null,
    slice: null,
    message: `filters-data did not answer for ${filter}; no slice was held against that list`,
    hint: null,
  };
}

function leftToService(config: Config): Finding[] {
  return Object.entries(config.leftToService)
    .filter(([, parameters]) => parameters.length > 0)
    .map(([slice, parameters]) => ({
      severity: 'note',
      code: null,
      slice,
      message: `left to the service's own default: ${parameters.join(', ')}`,
      hint: null,
    }));
}
