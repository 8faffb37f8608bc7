/** Properties try the same examples against every mutant, so that a score repeats, and end with the first that fails. */

import * as fc from 'fast-check';

fc.configureGlobal({ seed: 1, endOnFailure: true });
