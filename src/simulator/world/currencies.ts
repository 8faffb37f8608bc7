/** Currencies the world reports in, at rates that never move. Money is kept in US dollars until it is reported. */

export interface Currency {
  /** ISO 4217. */
  readonly code: string;
  readonly name: string;
  /** How many of it one US dollar buys. Small enough that a year's micro-units stay exact integers. */
  readonly rate: number;
}

export const currencies = [
  { code: 'USD', name: 'US Dollar', rate: 1 },
  { code: 'EUR', name: 'Euro', rate: 0.92 },
  { code: 'GBP', name: 'Pound Sterling', rate: 0.79 },
  { code: 'JPY', name: 'Yen', rate: 151.5 },
  { code: 'CHF', name: 'Swiss Franc', rate: 0.89 },
  { code: 'SEK', name: 'Swedish Krona', rate: 10.4 },
  { code: 'PLN', name: 'Zloty', rate: 3.95 },
  { code: 'TRY', name: 'Turkish Lira', rate: 32.3 },
  { code: 'INR', name: 'Indian Rupee', rate: 83.4 },
  { code: 'BRL', name: 'Brazilian Real', rate: 5.05 },
  { code: 'AUD', name: 'Australian Dollar', rate: 1.52 },
  { code: 'CNY', name: 'Yuan Renminbi', rate: 7.23 },
] as const satisfies readonly Currency[];

export const defaultCurrency: Currency = currencies[0];

/** The currency of an ISO 4217 code in capitals, or null. */
export function findCurrency(code: string): Currency | null {
  return currencies.find((currency) => currency.code === code) ?? null;
}
