/** What a run is asked for when nothing is asked for in particular: every slice, whatever is due, no waiting. */
export const plainRequest = {
  asOf: null,
  slices: null,
  forced: null,
  acceptLoss: false,
  lockWaitMs: 0,
  deadlineMs: null,
} as const;
