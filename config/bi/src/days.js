/** Sums over the rows of the copy. What is not known adds nothing, and a sum of nothing is null. */

const sum = (rows, name) =>
  rows.reduce((total, { [name]: value }) => (value === null ? total : (total ?? 0) + value), null);
const share = (part, whole) =>
  part === null || whole === null || whole === 0 ? null : part / whole;

/** The rows of each day as one, in the order they come. */
export function byDay(rows) {
  const names = [...new Set(rows.map(({ day }) => day))];
  return names.map((name) => {
    const of = rows.filter(({ day }) => day === name);
    const [spend, revenue, paidRevenue] = ['spend', 'revenue', 'paid_revenue'].map((metric) =>
      sum(of, metric),
    );
    const [{ spend_is_final: spendIsFinal, revenue_is_final: revenueIsFinal }] = of;
    return {
      day: new Date(name),
      name,
      spend,
      spendIsFinal,
      revenue,
      revenueIsFinal,
      paidRevenue,
      returned: share(paidRevenue, spend),
      returnedIsFinal: spendIsFinal && revenueIsFinal,
    };
  });
}

/** What is final of spend and revenue, what is not yet, and the return of the days on which both are. */
export function totals(days) {
  const settled = days.filter(({ returnedIsFinal }) => returnedIsFinal);
  const part = (metric, isFinal) =>
    sum(
      days.filter((day) => day[`${metric}IsFinal`] === isFinal),
      metric,
    );
  return {
    spend: part('spend', true),
    spendToCome: part('spend', false),
    revenue: part('revenue', true),
    revenueToCome: part('revenue', false),
    returned: share(sum(settled, 'paidRevenue'), sum(settled, 'spend')),
  };
}
