/** The settings of who is told of a run's end. */

import { z } from 'zod';

import { choice, webAddressProblem } from './setting-kinds.ts';

/** How a run can end, as far as others are told. `recovered`: it succeeded, and the one before it had not. */
export const outcomes = ['succeeded', 'failed', 'recovered'] as const;

export type Outcome = (typeof outcomes)[number];

const AN_ADDRESS = 'must be an address such as https://hc-ping.com/your-uuid';

/** The address is a credential: who knows it can write there. */
const address = z
  .string({ error: AN_ADDRESS })
  .meta({ format: 'uri' })
  .superRefine((value, context) => {
    const wrong = webAddressProblem(value, {
      allowed: AN_ADDRESS,
      shown: 'it',
      credentials: 'holds a user or a password; must be an address without',
      mayHaveQuery: true,
    });
    if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
  });

const told = z.strictObject({
  url: address.describe('Sent a POST of {"text": …}, as healthchecks.io and Slack take it; never shown.'),
  on: z
    .array(choice(outcomes))
    .min(1)
    .default(['failed', 'recovered'])
    .describe('Of which ends: succeeded, failed, recovered. [failed, recovered].'),
});

/** One address, or several. */
export const notifySettings = z
  .union([told.transform((one) => [one]), z.array(told)], {
    error: 'must be a mapping of url and on, or a list of them',
  })
  .default([]);
