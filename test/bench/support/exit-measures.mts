/** Preloaded (`node --import`) into a measured process: writes what it used to the file `BENCH_MEASURES` as it exits. */

import { writeFileSync } from 'node:fs';

const file = process.env['BENCH_MEASURES'];

process.on('exit', () => {
  if (file === undefined) return;
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const cpuMs = (userCPUTime + systemCPUTime) / 1000;
  writeFileSync(file, JSON.stringify({ peakKib: maxRSS, cpuMs }));
});
