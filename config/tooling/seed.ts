/** Property tests try the same examples in every run; `RIPEN_SEED` tries others. */

import { configureGlobal } from 'fast-check';

configureGlobal({ seed: Number(process.env['RIPEN_SEED'] ?? 1) });
