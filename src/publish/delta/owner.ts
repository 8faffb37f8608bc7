/** Whose Delta tables lie at a place, without opening them: commits of ripen's own say it. */

import * as z from 'zod';

import { OWNER } from './delta-table.ts';
import { commitPath, logFiles } from './log.ts';
import type { DeltaStore } from './store.ts';

const commitInfo = z.object({ commitInfo: z.object({ [OWNER]: z.string() }) });

/** The id of the warehouse that committed last to a table; null where none did. */
export async function committedBy(store: DeltaStore, table: string): Promise<string | null> {
  const paths = [...(await store.list(table)).keys()].map((path) => path.slice(table.length + 1));
  for (const version of logFiles(paths).commits.toReversed()) {
    const committer = await committerOf(store, table, version);
    if (committer !== null) return committer;
  }
  return null;
}

/** The id of the warehouse that committed a version; null for another program's commit. */
export async function committerOf(store: DeltaStore, table: string, version: number): Promise<string | null> {
  const [first = ''] = ((await store.read(`${table}/${commitPath(version)}`)) ?? '').split('\n');
  const parsed = commitInfo.safeParse(JSON.parse(first === '' ? 'null' : first));
  return parsed.success ? (parsed.data.commitInfo[OWNER] ?? null) : null;
}
