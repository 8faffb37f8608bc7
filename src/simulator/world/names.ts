/**
 * The names the world's owners gave to things, awkward ones among them.
 *
 * Each of these breaks some program that takes names for granted: quoting, splitting, trimming, normalising, spreadsheet
 * formulas, markup. Text of the world is stored and answered byte for byte.
 */

const LONG_LENGTH = 1_200;

/** Labels of links that programs stumble over; the two `Café` differ only in Unicode normalisation. */
export const awkwardLabels: readonly string[] = [
  `Quotes ' " \` all three`,
  'Semicolon; comma, colon: pipe|',
  "Robert'); drop table links;--",
  '=1+1',
  '<script>alert(1)</script>',
  'Caf\u00e9 summer',
  'Cafe\u0301 summer',
  'Line\nbreak and\ttab',
  '  leading and trailing  ',
  'Emoji 🚀👩‍👩‍👧 sale',
  'عرض الصيف (RTL)',
  '',
  `Long ${'x'.repeat(LONG_LENGTH)}`,
  '+49 -1 @home',
  'back\\slash %20 %s {macro} [macro]',
  'null',
  'NaN',
  '2026-01-01',
  'A::B',
  'UPPER lower ÄÖÜ ß İ',
];

/** Labels nobody stumbles over, by link level; a number follows where they run out. */
export const plainLabels = {
  1: ['Northwind', 'Halcyon Social', 'Kumo', 'Pixelmill', 'Juniper Search', 'Bluefin DSP', 'Tessera', 'Mosaic Video'],
  2: ['Spring Sale', 'Retargeting', 'Lookalike 1%', 'Brand', 'Summer', 'Broad'],
  3: ['Women 25-34', 'Men 18-24', 'Interests', 'All audiences', 'High value'],
  4: ['Video 15s', 'Banner 320x50', 'Playable', 'Story 9:16', 'Carousel'],
} as const;

/** Partners' names as displayed. */
export const partnerNames: readonly string[] = [
  'Northwind Ads',
  'Halcyon Social',
  'Kumo 雲',
  'Pixelmill, Inc.',
  'Juniper "Search" & Display',
  'Bluefin DSP',
  'Tessera',
  "L'Étoile Média",
  'Mosaic Video',
  'Offerwall <Plus>',
];

/** Apps' names: the first two are the same app for two stores, told apart by their tokens only. */
export const appNames: readonly string[] = [
  'Dulci',
  'Dulci',
  'Rover & "Friends" 🐕',
  'Test app',
  'Ledger, Simply',
  'クイズ',
];
