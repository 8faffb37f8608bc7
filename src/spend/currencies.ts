/**
 * The currencies spend can be stated in: the active codes of ISO 4217 (list one, with the amendments up to 2025).
 *
 * Left out are XTS (reserved for tests) and XXX (no currency). Codes that a country gave up lately (ANG, BGN) stay, as
 * spend may still be booked in them; the service has the last word.
 */

const codes = `
  AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE
  CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD
  HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD
  MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR
  RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH
  UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XUA
  YER ZAR ZMW ZWG`;

const known: ReadonlySet<string> = new Set(codes.trim().split(/\s+/));

/** Whether a text is an upper-case code of ISO 4217. */
export function isCurrency(text: string): boolean {
  return known.has(text);
}
