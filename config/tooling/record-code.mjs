/** Imported before a bundled command: when that has ended, leaves beside each file it used the code V8 made of it. */

import { chmodSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import vm from 'node:vm';

/** @type {{ script: vm.Script, filename: string }[]} */
const scripts = [];

vm.Script = class extends vm.Script {
  /**
   * @param {string} text
   * @param {{ filename: string }} options
   */
  constructor(text, options) {
    super(text, options);
    scripts.push({ script: this, filename: options.filename });
  }
};
syncBuiltinESMExports();

process.on('exit', () => {
  for (const { script, filename } of scripts) {
    writeFileSync(`${filename}.code`, script.createCachedData());
    // The command keeps what it writes to itself; this is for everybody.
    chmodSync(`${filename}.code`, 0o644);
  }
});
