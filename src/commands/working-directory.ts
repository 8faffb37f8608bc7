/**
 * The directory the process was started in; null where it was removed since.
 *
 * Imported before everything else: libraries ask for it while they load, and get the root in place of one that is gone.
 */

export const workingDirectory: string | null = standing();

function standing(): string | null {
  try {
    return process.cwd();
  } catch {
    process.chdir('/');
    return null;
  }
}
