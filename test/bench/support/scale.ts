/** How large the bench is: `BENCH=small` runs everything on little in under a minute, and leaves the page alone; `BENCH=large` adds what takes an hour. */

import { env } from 'node:process';

export const isSmall: boolean = env['BENCH'] === 'small';

/** Whether what takes an hour is measured too. */
export const isLarge: boolean = env['BENCH'] === 'large';

/** The one or the other, by scale. */
export function scaled<T>(usual: T, small: T): T {
  return isSmall ? small : usual;
}
