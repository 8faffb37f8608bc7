/**
 * Names that programs have trouble with.
 *
 * Each of these breaks some program that takes names for granted: quoting, splitting, trimming, normalising, spreadsheet
 * formulas, markup. Text of the world is stored and answered byte for byte.
 */

import { type Names, ordinaryNames } from '../../../src/simulator/world/entities.ts';

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

/** Partners' names as displayed. */
const partners: readonly string[] = [
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
const apps: readonly string[] = [
  'Dulci',
  'Dulci',
  'Rover & "Friends" 🐕',
  'Test app',
  'Ledger, Simply',
  'クイズ',
];

export const awkwardNames: Names = {
  ...ordinaryNames,
  partners,
  apps,
  unusualLabels: awkwardLabels,
};
