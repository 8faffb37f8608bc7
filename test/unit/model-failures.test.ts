import { describe, expect, test } from 'vitest';

import {
  asFailure,
  exitCodeOf,
  exitCodes,
  Failure,
  failureCodes,
  FULL_DISK,
  storageFailed,
  stoppedExitCode,
  Stopped,
  type FailureCode,
} from '../../src/errors.ts';
import { textWith } from '../support/matching.ts';

const failed = (code: FailureCode): Failure => new Failure(code, `${code} happened.`);

describe('a failure', () => {
  test('each of the codes has a kind, and each kind one of the 5 exit codes of sysexits, or that of SIGTERM', () => {
    expect(exitCodes).toEqual({
      bug: 70,
      usage: 78,
      storage: 74,
      contract: 65,
      unavailable: 75,
      interrupted: 143,
    });
    expect(new Set(Object.values(failureCodes))).toEqual(new Set(Object.keys(exitCodes)));
    expect(Object.keys(failureCodes)).toEqual(Object.keys(failureCodes).toSorted());
  });

  test.each<[readonly FailureCode[], number]>([
    [[], 0],
    [['CONFIG_INVALID'], 78],
    [['SOURCE_TIMEOUT', 'DATA_REJECTED'], 65],
    [['DATA_REJECTED', 'SOURCE_TIMEOUT'], 65],
    [['SOURCE_TIMEOUT', 'DATA_REJECTED', 'STORAGE_FAILED'], 74],
    [['STORAGE_FAILED', 'CREDENTIALS_REFUSED', 'DATA_REJECTED'], 78],
    [['CREDENTIALS_REFUSED', 'BUG', 'STORAGE_FAILED'], 70],
    [['SOURCE_TIMEOUT', 'SOURCE_OVERLOADED'], 75],
    [['INTERRUPTED'], 143],
    [['INTERRUPTED', 'SOURCE_TIMEOUT'], 75],
  ])('%j together exit with %i, that of the most serious', (codes, exitCode) => {
    expect(exitCodeOf(codes.map(failed))).toBe(exitCode);
  });

  test('what was thrown unforeseen becomes BUG with its cause, and a failure stays itself', () => {
    const known = failed('DATA_SHRUNK');
    expect(asFailure(known)).toBe(known);
    const error = new TypeError('x is undefined');
    expect(asFailure(error)).toMatchObject({ code: 'BUG', kind: 'bug' });
    expect(asFailure(error).cause).toBe(error);
    expect(asFailure(error).message).toContain('x is undefined');
    expect(asFailure('a text').message).toContain('a text');
    expect(asFailure(null).code).toBe('BUG');
    expect(asFailure(error, new AbortController().signal).code).toBe('BUG');
  });

  test.each([
    ['ENOSPC: no space left on device, write', { code: 'ENOSPC' }],
    ['Unknown system error -122, writev', { errno: -122, code: 'Unknown system error -122' }],
    ['IO Error: Could not write file "w.duckdb": No space left on device', {}],
  ])('a full disk or quota is called that, whatever the system calls it: %s', (message, fields) => {
    const messageOf = (cause: Error): string =>
      storageFailed('It failed', cause, { hint: 'x' }).message;
    expect(messageOf(Object.assign(new Error(message), fields))).toBe(
      `It failed: ${FULL_DISK} (${message})`,
    );
    expect(messageOf(new Error('EACCES: permission denied'))).not.toContain(FULL_DISK);
  });

  test('what was thrown after the signal aborted is INTERRUPTED, says why, and has the exit code of its signal', () => {
    const stop = new AbortController();
    stop.abort(new Stopped('SIGINT'));
    const failure = asFailure(new TypeError('aborted'), stop.signal);
    expect(failure).toMatchObject({
      code: 'INTERRUPTED',
      message: textWith('SIGINT was received'),
    });
    expect(stoppedExitCode(stop.signal)).toBe(130);
    expect(stoppedExitCode(AbortSignal.abort())).toBe(143);
    expect(asFailure(failed('DATA_SHRUNK'), stop.signal).code).toBe('DATA_SHRUNK');
  });
});
