/** The machine a bench ran on, in the words that matter for its figures and no others. */

import { availableParallelism, totalmem } from 'node:os';
import { versions } from 'node:process';

import { version } from '@duckdb/node-api';

export interface Machine {
  readonly cores: number;
  readonly memory_gib: number;
  readonly node: string;
  readonly duckdb: string;
}

const GIB = 1_073_741_824;

export function describeMachine(): Machine {
  return {
    cores: availableParallelism(),
    memory_gib: Math.round(totalmem() / GIB),
    node: versions.node,
    duckdb: version().replace(/^v/, ''),
  };
}
