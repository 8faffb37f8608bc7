/** What every verb that works on a configuration can be told, and what holds where nothing was said. */

import type { Config } from '../config/config.ts';
import type { Emit } from '../events.ts';
import type { Service } from '../service/service.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { checkAsOf } from './guards.ts';
import { simulatedNow, withService } from './service-in-use.ts';

export interface Circumstances {
  /** The instant to plan for, and to count as the fetch; that of a simulator whose clock stands still, or else now. */
  readonly asOf?: Date | null;
  /** Told what happens, as it happens; nobody by default. */
  readonly emit?: Emit;
  /** Stops the work: nothing new is started, the one open transaction is finished or rolled back. */
  readonly signal?: AbortSignal;
  /** How long to wait for another run to let go of the warehouse; a minute by default. */
  readonly lockWaitMs?: number | null;
}

/** Every circumstance, stated or usual. */
export interface Standing {
  /** The instant that was stated; null: none. */
  readonly asOf: Date | null;
  /** The planning instant. */
  readonly planAt: Date;
  readonly emit: Emit;
  readonly signal: AbortSignal;
  readonly lockWaitMs: number;
}

const LOCK_WAIT_MS = 60_000;

/** What holds where nothing was said; `AS_OF_IN_FUTURE` for an instant that has not come. */
export function circumstancesOf(config: Config, options: Circumstances): Standing {
  const { asOf: stated = null, emit = () => {}, signal = new AbortController().signal, lockWaitMs } = options;
  const now = new Date();
  checkAsOf(stated, now);
  const asOf = stated ?? simulatedNow(config);
  return { asOf, planAt: asOf ?? now, emit, signal, lockWaitMs: lockWaitMs ?? LOCK_WAIT_MS };
}

/** Opens the configured warehouse for as long as `use` runs. */
export async function onWarehouse<T>(
  config: Config,
  mode: 'read' | 'write',
  { emit, signal, lockWaitMs }: Standing,
  use: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  const { withWarehouse } = await import('../warehouse/opening.ts');
  return withWarehouse(config.warehouse, { mode, lockWaitMs, emit, signal }, use);
}

/** Connects to the configured service for as long as `use` runs. */
export async function onService<T>(
  config: Config,
  { planAt, emit }: Standing,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  return withService(config, planAt, emit, use);
}
