/** Preloaded (`node --import`) into a measured process: writes what it used to the file `BENCH_MEASURES` as it exits. */

import { writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';

const file = process.env['BENCH_MEASURES'];

process.on('exit', () => {
  if (file === undefined) return;
  const { active } = performance.eventLoopUtilization();
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const cpuMs = (userCPUTime + systemCPUTime) / 1000;
  writeFileSync(file, JSON.stringify({ peakKib: maxRSS, mainBusyMs: active, cpuMs }));
});
