/** `ripen simulator`. */

import { once } from 'node:events';

import { exitCodes } from '../errors.ts';
import { startSimulator } from '../index.ts';
import type { Shell } from '../report/terminal/shell.ts';
import { present } from './outcome.ts';
import { parseOption, instantOf, wholeNumberUpTo } from './verb.ts';
import type { Arguments } from './words.ts';

const MAX_PORT = 65_535;

export async function simulator(args: Arguments<'simulator'>, shell: Shell) {
  const running = await startSimulator({
    port: wholeNumberUpTo(MAX_PORT)(args.port, '--port'),
    world: { seed: wholeNumberUpTo(Number.MAX_SAFE_INTEGER)(args.seed, '--seed') },
    now: parseOption(instantOf, args.now, '--now'),
  });
  const { url } = running;
  const { token, costCredential } = running.credentials;
  const text = `serving on ${url} until Ctrl-C

service:
  base_url: ${url}
  reports_url: ${url}
  cost_url: ${url}
  token: \${RIPEN_TOKEN}
  cost_headers: { Authorization: "\${RIPEN_COST_CREDENTIAL}" }

export RIPEN_TOKEN=${token} RIPEN_COST_CREDENTIAL='${costCredential}'`;
  present({ json: { url, token, cost_credential: costCredential }, text }, args, shell);
  if (!shell.signal.aborted) await once(shell.signal, 'abort');
  await running.close();
  return { exitCode: exitCodes.interrupted };
}
