/** How large the bench is: `BENCH=small` runs everything on little in under a minute, and leaves the page alone. */

import { env } from 'node:process';

export const isSmall: boolean = env['BENCH'] === 'small';

/** The one or the other, by scale. */
export function scaled<T>(usual: T, small: T): T {
  return isSmall ? small : usual;
}
