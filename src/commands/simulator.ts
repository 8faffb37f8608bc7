/** `ripen simulator`: the whole service interface on loopback, until a signal. */

import { once } from 'node:events';

import { exitCodes } from '../errors.ts';
import { startSimulator } from '../index.ts';
import { instantOf, wholeNumberOf } from './instant.ts';
import { jsonLine } from '../terminal/printable.ts';
import type { GlobalArguments, Shell } from '../terminal/shell.ts';

interface SimulatorArguments extends GlobalArguments {
  readonly port: string;
  readonly seed: string;
  readonly now: string | undefined;
}

/** What the simulator takes as its token: any text would do, and no secret is better than one that looks like it. */
const TOKEN = 'simulator-token';
/** The same for the ad spend API. */
const COST_CREDENTIAL = 'Partner simulator';

const MOST_PORT = 65_535;

/** Prints the address and a configuration to reach it with, and serves until the first signal; returns that it was stopped. */
export async function simulator(args: SimulatorArguments, shell: Shell): Promise<number> {
  const now = args.now === undefined ? null : instantOf(args.now, '--now');
  const running = await startSimulator({
    port: wholeNumberOf(args.port, '--port', MOST_PORT),
    world: { seed: wholeNumberOf(args.seed, '--seed', Number.MAX_SAFE_INTEGER) },
    now,
    token: TOKEN,
    costCredential: COST_CREDENTIAL,
  });
  shell.print(
    args.json
      ? jsonLine({ url: running.url, token: TOKEN, cost_credential: COST_CREDENTIAL })
      : servingText(running.url),
  );
  if (!shell.signal.aborted) await once(shell.signal, 'abort');
  await running.close();
  return exitCodes.interrupted;
}

function servingText(url: string): string {
  return `serving on ${url} until Ctrl-C

service:
  base_url: ${url}
  reports_url: ${url}
  cost_url: ${url}
  token: \${RIPEN_TOKEN}
  cost_headers: { Authorization: "\${RIPEN_COST_CREDENTIAL}" }

export RIPEN_TOKEN=${TOKEN} RIPEN_COST_CREDENTIAL='${COST_CREDENTIAL}'`;
}
