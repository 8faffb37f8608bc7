/** Some ISO 3166 countries. The first ones have the most traffic. */

interface Country {
  readonly code: string;
  readonly name: string;
  readonly region: string;
}

const namesByRegion = {
  'North America': `US United States;CA Canada;MX Mexico;BM Bermuda;GL Greenland;PM Saint Pierre and Miquelon`,
  Europe: `DE Germany;FR France;GB United Kingdom;ES Spain;IT Italy;PL Poland;NL Netherlands;SE Sweden;AD Andorra;
    AX Åland Islands;AT Austria;BE Belgium;CH Switzerland;CZ Czechia;IE Ireland;MD Moldova, Republic of`,
  'Asia Pacific': `JP Japan;IN India;KR Korea, Republic of;ID Indonesia;AU Australia;TH Thailand;VN Viet Nam;
    CC Cocos (Keeling) Islands;CN China;MY Malaysia;NZ New Zealand;PH Philippines;SG Singapore;TW Taiwan`,
  'Latin America': `BR Brazil;AR Argentina;AG Antigua and Barbuda;BL Saint Barthélemy;BQ Bonaire, Sint Eustatius and Saba;
    CL Chile;CO Colombia;CW Curaçao;EC Ecuador;PE Peru;PR Puerto Rico;UY Uruguay`,
  'Middle East & Africa': `TR Türkiye;AE United Arab Emirates;NG Nigeria;CI Côte d'Ivoire;EG Egypt;IL Israel;KE Kenya;
    MA Morocco;NA Namibia;RE Réunion;SA Saudi Arabia;ZA South Africa`,
} as const;

const byRegion = Object.entries(namesByRegion).map(([region, names]) =>
  names.split(/;\s*/).map((entry) => ({ code: entry.slice(0, 2), name: entry.slice(3), region })),
);

const longest = Math.max(...byRegion.map((region) => region.length));

export const countries: readonly Country[] = Array.from({ length: longest }, (_, rank) =>
  byRegion.flatMap((region) => region[rank] ?? []),
).flat();
