/** Countries of ISO 3166 with their business regions; the first ones have the most traffic. */

export interface Country {
  readonly code: string;
  readonly name: string;
  readonly region: string;
}

const namesByRegion = {
  'North America': `US United States;CA Canada;MX Mexico;BM Bermuda;GL Greenland;PM Saint Pierre and Miquelon`,
  Europe: `DE Germany;FR France;GB United Kingdom;ES Spain;IT Italy;PL Poland;NL Netherlands;SE Sweden;AD Andorra;
    AL Albania;AT Austria;AX Åland Islands;BA Bosnia and Herzegovina;BE Belgium;BG Bulgaria;BY Belarus;CH Switzerland;
    CY Cyprus;CZ Czechia;DK Denmark;EE Estonia;FI Finland;FO Faroe Islands;GG Guernsey;GI Gibraltar;GR Greece;
    HR Croatia;HU Hungary;IE Ireland;IM Isle of Man;IS Iceland;JE Jersey;LI Liechtenstein;LT Lithuania;LU Luxembourg;
    LV Latvia;MC Monaco;MD Moldova, Republic of;ME Montenegro;MK North Macedonia;MT Malta;NO Norway;PT Portugal;
    RO Romania;RS Serbia;RU Russian Federation;SI Slovenia;SJ Svalbard and Jan Mayen;SK Slovakia;SM San Marino;
    UA Ukraine;VA Holy See;XK Kosovo`,
  'Asia Pacific': `JP Japan;IN India;KR Korea, Republic of;ID Indonesia;AU Australia;TH Thailand;VN Viet Nam;
    AS American Samoa;BD Bangladesh;BN Brunei Darussalam;BT Bhutan;CC Cocos (Keeling) Islands;CK Cook Islands;CN China;
    CX Christmas Island;FJ Fiji;FM Micronesia;GU Guam;HK Hong Kong;KG Kyrgyzstan;KH Cambodia;KI Kiribati;
    KP Korea, Democratic People's Republic of;KZ Kazakhstan;LA Lao People's Democratic Republic;LK Sri Lanka;
    MH Marshall Islands;MM Myanmar;MN Mongolia;MO Macao;MP Northern Mariana Islands;MV Maldives;MY Malaysia;
    NC New Caledonia;NF Norfolk Island;NP Nepal;NR Nauru;NU Niue;NZ New Zealand;PF French Polynesia;
    PG Papua New Guinea;PH Philippines;PK Pakistan;PN Pitcairn;PW Palau;SB Solomon Islands;SG Singapore;TJ Tajikistan;
    TK Tokelau;TL Timor-Leste;TM Turkmenistan;TO Tonga;TV Tuvalu;TW Taiwan;UZ Uzbekistan;VU Vanuatu;
    WF Wallis and Futuna;WS Samoa`,
  'Latin America': `BR Brazil;AR Argentina;AG Antigua and Barbuda;AI Anguilla;AW Aruba;BB Barbados;
    BL Saint Barthélemy;BO Bolivia;BQ Bonaire, Sint Eustatius and Saba;BS Bahamas;BZ Belize;CL Chile;CO Colombia;
    CR Costa Rica;CU Cuba;CW Curaçao;DM Dominica;DO Dominican Republic;EC Ecuador;FK Falkland Islands (Malvinas);
    GD Grenada;GF French Guiana;GP Guadeloupe;GT Guatemala;GY Guyana;HN Honduras;HT Haiti;JM Jamaica;
    KN Saint Kitts and Nevis;KY Cayman Islands;LC Saint Lucia;MF Saint Martin;MQ Martinique;MS Montserrat;NI Nicaragua;
    PA Panama;PE Peru;PR Puerto Rico;PY Paraguay;SR Suriname;SV El Salvador;SX Sint Maarten;TC Turks and Caicos Islands;
    TT Trinidad and Tobago;UY Uruguay;VC Saint Vincent and the Grenadines;VE Venezuela;VG Virgin Islands, British;
    VI Virgin Islands, U.S.`,
  'Middle East & Africa': `TR Türkiye;AE United Arab Emirates;NG Nigeria;AF Afghanistan;AM Armenia;AO Angola;
    AZ Azerbaijan;BF Burkina Faso;BH Bahrain;BI Burundi;BJ Benin;BW Botswana;CD Congo, Democratic Republic of the;
    CF Central African Republic;CG Congo;CI Côte d'Ivoire;CM Cameroon;CV Cabo Verde;DJ Djibouti;DZ Algeria;EG Egypt;
    EH Western Sahara;ER Eritrea;ET Ethiopia;GA Gabon;GE Georgia;GH Ghana;GM Gambia;GN Guinea;GQ Equatorial Guinea;
    GW Guinea-Bissau;IL Israel;IQ Iraq;IR Iran;JO Jordan;KE Kenya;KM Comoros;KW Kuwait;LB Lebanon;LR Liberia;LS Lesotho;
    LY Libya;MA Morocco;MG Madagascar;ML Mali;MR Mauritania;MU Mauritius;MW Malawi;MZ Mozambique;NA Namibia;NE Niger;
    OM Oman;PS Palestine, State of;QA Qatar;RE Réunion;RW Rwanda;SA Saudi Arabia;SC Seychelles;SD Sudan;SH Saint Helena;
    SL Sierra Leone;SN Senegal;SO Somalia;SS South Sudan;ST Sao Tome and Principe;SY Syrian Arab Republic;SZ Eswatini;
    TD Chad;TG Togo;TN Tunisia;TZ Tanzania, United Republic of;UG Uganda;YE Yemen;YT Mayotte;ZA South Africa;ZM Zambia;
    ZW Zimbabwe`,
} as const;

const byRegion: readonly (readonly Country[])[] = Object.entries(namesByRegion).map(([region, names]) =>
  names.split(/;\s*/).map((entry) => ({ code: entry.slice(0, 2), name: entry.slice(3).trim(), region })),
);

const longest = Math.max(...byRegion.map((region) => region.length));

/** Every country once, taken from the regions in turn, so that any first few already span the world. */
export const countries: readonly Country[] = Array.from({ length: longest }, (_, rank) =>
  byRegion.flatMap((region) => region[rank] ?? []),
).flat();
