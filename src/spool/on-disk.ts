/** Errors of the file system as failures that say which of the run's own folders they are about. */

import { Failure } from '../errors.ts';

/** What the work returns; an error of the file system becomes `STORAGE_FAILED` about the place, any other is thrown on. */
export async function onDisk<T>(place: 'archive' | 'spool', path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new Failure('STORAGE_FAILED', `The ${place} at ${path} could not be used: ${error.message}`, {
      facts: { path },
      hint: `Check free space and permissions of the ${place} beside the warehouse.`,
      cause: error,
    });
  }
}
