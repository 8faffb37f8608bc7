/** A folder to send ad spend from: files to write, a warehouse that remembers between runs. */

import { readFile, writeFile, mkdtemp, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as z from 'zod';

import type { RunEvent } from '../../src/events.ts';
import type { Service } from '../../src/service/service.ts';
import { sendSpend, type SpendRequest, type SpendSummary } from '../../src/account/send-spend.ts';
import { openWarehouse } from '../../src/warehouse/opening.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { closedOnce } from './closing.ts';

export const NOW = new Date('2026-02-14T12:00:00Z');

/** The columns of a good line; a test changes what it is about. */
export const goodLine = {
  cost_id: 'sender-000001',
  cost_type: 'cpc',
  cost_currency: 'USD',
  cost_amount: '0.25',
  tag: 'spring',
} as const;

const reject = z.looseObject({ line: z.number(), reasons: z.array(z.string()) });
const spendRow = z.object({
  cost_id: z.string(),
  cost_amount: z.string(),
  outcome: z.string(),
  status: z.number().nullable(),
  reason: z.string().nullable(),
});

export type SpendRow = z.infer<typeof spendRow>;

export interface SpendFixture {
  readonly directory: string;
  readonly events: RunEvent[];
  /** Writes a file; returns its path. */
  write(name: string, content: string | Buffer): Promise<string>;
  send(
    file: string,
    service: Pick<Service, 'submitSpend'>,
    change?: Partial<SpendRequest>,
    signal?: AbortSignal,
  ): Promise<SpendSummary>;
  /** The lines of a file's rejects; null when there is no such file. */
  rejects(file: string, dryRun?: boolean): Promise<z.infer<typeof reject>[] | null>;
  /** `ripen.spend` by Cost ID. */
  ledger(): Promise<SpendRow[]>;
  inWarehouse<T>(use: (warehouse: Warehouse) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function openSpendFixture(): Promise<SpendFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'ripen-spend-'));
  const events: RunEvent[] = [];
  const emit = (event: RunEvent): void => void events.push(event);
  const inWarehouse: SpendFixture['inWarehouse'] = async (use) => {
    const warehouse = await openWarehouse(join(directory, 'warehouse.duckdb'), {
      mode: 'write',
      lockWaitMs: 0,
      emit,
    });
    try {
      return await use(warehouse);
    } finally {
      await warehouse.close();
    }
  };
  return {
    directory,
    events,
    inWarehouse,
    async write(name, content) {
      const path = join(directory, name);
      await writeFile(path, content);
      return path;
    },
    send: async (file, service, change = {}, signal = new AbortController().signal) =>
      inWarehouse(async (warehouse) =>
        sendSpend(
          { file, dryRun: false, resendUnknown: false, now: NOW, ...change },
          { warehouse, service, emit, signal },
        ),
      ),
    async rejects(file, dryRun = false) {
      const path = `${file}${dryRun ? '.dry-run' : ''}.rejects.ndjson`;
      if (!existsSync(path)) return null;
      const text = await readFile(path, 'utf8');
      return text
        .trimEnd()
        .split('\n')
        .map((line) => reject.parse(JSON.parse(line)));
    },
    ledger: async () =>
      inWarehouse(async (warehouse) =>
        warehouse.rows(
          'select cost_id, cost_amount, outcome, status, reason from ripen.spend order by cost_id',
          [],
          spendRow,
        ),
      ),
    close: closedOnce(async () => rm(directory, { recursive: true, force: true })),
  };
}

/** Lines as CSV under a header of the first one's columns. */
export function csvOf(lines: readonly Readonly<Record<string, string>>[]): string {
  const columns = Object.keys(lines[0] ?? goodLine);
  const quote = (text: string): string =>
    /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  return [columns, ...lines.map((line) => columns.map((column) => line[column] ?? ''))]
    .map((fields) => `${fields.map(quote).join(',')}\n`)
    .join('');
}

export function ndjsonOf(lines: readonly object[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
