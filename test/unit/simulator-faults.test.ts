import { describe, expect, test } from 'vitest';
import { createFaultScript, type Fault, type FaultedRequest } from '../../src/simulator/faults.ts';

const asked = (ordinal: number, query = ''): FaultedRequest => ({
  method: 'GET',
  path: '/reports-service/report',
  query: new URLSearchParams(query),
  ordinal,
});

const anything = (): boolean => true;

/** The kinds of fault that befall requests 1 to `count`, one text each. */
function befalling(fault: Fault, count: number): string[] {
  const script = createFaultScript();
  script.add({ match: anything, times: Infinity, fault });
  return Array.from({ length: count }, (_, index) =>
    script
      .faultsFor(asked(index + 1))
      .map((happening) => (happening.kind === 'status' ? `${happening.status}` : happening.kind))
      .join(' '),
  );
}

describe('a fault rule', () => {
  test('applies to the 2 requests it is for and then no more', () => {
    const script = createFaultScript();
    script.add({ match: ({ ordinal }) => ordinal > 1, times: 2, fault: { kind: 'silence' } });
    const counts = [1, 2, 3, 4].map((ordinal) => script.faultsFor(asked(ordinal)).length);
    expect(counts).toEqual([0, 1, 1, 0]);
  });

  test('applies no more once it was removed', () => {
    const script = createFaultScript();
    const remove = script.add({ match: anything, times: Infinity, fault: { kind: 'silence' } });
    expect(script.faultsFor(asked(1))).toHaveLength(1);
    remove();
    expect(script.faultsFor(asked(2))).toHaveLength(0);
  });

  test('joins the others that match, in the order of scripting', () => {
    const script = createFaultScript();
    script.add({ match: anything, times: 1, fault: { kind: 'date_skew', ms: 1 } });
    script.add({ match: anything, times: 1, fault: { kind: 'endless_body' } });
    expect(script.faultsFor(asked(1)).map(({ kind }) => kind)).toEqual(['date_skew', 'endless_body']);
  });
});

describe('a conditional fault', () => {
  test('revokes the token after 2 requests', () => {
    expect(befalling({ kind: 'revoked_token', afterRequests: 2 }, 4)).toEqual(['', '', '401', '401']);
  });

  test('forbids the queries that contain its text, decoded', () => {
    const script = createFaultScript();
    script.add({ match: anything, times: Infinity, fault: { kind: 'forbidden', queryContains: 'app_token__in=a b' } });
    expect(script.faultsFor(asked(1, 'app_token__in=a+b,c'))).toMatchObject([{ status: 403 }]);
    expect(script.faultsFor(asked(2, 'app_token__in=c'))).toEqual([]);
  });

  test('by chance befalls about 3 of 10 requests, the same ones for the same seed', () => {
    const byChance = (seed: number): string[] => befalling({ kind: 'random', seed, tooMany: 0.2, cut: 0.1 }, 1000);
    const first = byChance(7);
    expect(byChance(7)).toEqual(first);
    expect(byChance(8)).not.toEqual(first);
    expect(first.filter((happened) => happened === '429').length).toBeGreaterThan(150);
    expect(first.filter((happened) => happened === '429').length).toBeLessThan(250);
    expect(first.filter((happened) => happened === 'cut').length).toBeGreaterThan(60);
    expect(first.filter((happened) => happened === 'cut').length).toBeLessThan(140);
  });
});
