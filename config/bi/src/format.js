/** Numbers as the dashboard says them; what is not known is a dash. */

const amount = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const ratio = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 3,
  maximumFractionDigits: 3,
});
const percent = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 });

/** A sum of money or a count. */
export const amountText = (value) => (value === null ? '–' : amount.format(value));
/** What a unit of money brought, or an install cost or brought. */
export const ratioText = (value) => (value === null ? '–' : ratio.format(value));
/** A name as the service has it. */
export const wordText = (value) => value ?? '–';
/** A part of a whole that is not zero. */
export const percentText = (part, whole) => percent.format(part / whole);
