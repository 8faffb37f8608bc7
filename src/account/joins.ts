/**
 * The views `<slice>_links`: the rows of a slice, each with its link and its partner.
 *
 * A row belongs to the deepest link whose path has exactly the row's labels, on the levels that the slice has, if the row
 * names nothing below it or the crawl went no deeper. If the row states the network's id of a name, ` (id)` may follow either
 * label; if it states none, the link may lack the ` (id)` of the reported name. Of several links or versions that fit, the one
 * valid in the row's period counts, else the nearest in time, then the one whose labels differ least. If two are left, the row
 * has no link.
 */

import { dateDimensions } from '../model/dimension.ts';
import { commentOn, declare, declaredHashes } from '../warehouse/declarations.ts';
import { namesCollide, relationsIn } from '../warehouse/relations.ts';
import { identifier } from '../warehouse/sql.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import {
  namesLinks,
  namesPartners,
  readSliceTables,
  rowIdSql,
  type StoredSlice,
} from './stored-slices.ts';

/** Updates the views. A slice keeps the name of another one's view, which then has none. */
export async function refreshJoins(warehouse: Warehouse): Promise<void> {
  const slices = (await readSliceTables(warehouse)).filter(({ isLive }) => isLive);
  const names = new Set(slices.map(({ slice }) => slice));
  const free = slices.filter(({ slice }) => !names.has(`${slice}_links`));
  const joinable = free.filter(
    (slice) =>
      (namesLinks(slice) || namesPartners(slice)) && !namesCollide(slice.columns, joinedColumns),
  );
  const declarations = joinable.map(({ slice }) => `slice ${slice}`);
  const declared = await declaredHashes(warehouse, declarations);
  const views = joinable.map(
    (slice) => `create or replace view ${joinedView(slice.slice)} as\n${linkedRows(slice)}`,
  );
  const joins = {
    name: 'joins',
    slice: null,
    inputs: [...free.map(({ slice }) => slice), ...views, ...declared, ...joinedColumns.flat()],
    relations: free.map(({ slice }) => `main.${slice}_links`),
    statements: async () => {
      const tables = await relationsIn(warehouse, 'main');
      return [
        ...free.map(({ slice }) => `drop view if exists ${joinedView(slice)}`),
        ...views,
        ...joinable.flatMap(({ slice }) => {
          const text = `Rows of ${slice} with the link and the partner each belongs to; never more rows than ${slice} has.`;
          const comments = new Map(joinedColumns);
          for (const { name, comment } of tables.get(slice)?.columns ?? [])
            if (comment !== null) comments.set(name, comment);
          return commentOn('view', joinedView(slice), text, comments);
        }),
      ];
    },
  };
  await warehouse.transact(async () => declare(warehouse, [joins]));
}

const joinedColumns: readonly (readonly [name: string, comment: string])[] = [
  ['link_token', 'The link the row belongs to; NULL when none or more than one fits'],
  ['link_level', 'Level of that link: 1 network, 2 campaign, 3 ad group, 4 creative'],
  ['link_name', 'Name of that link in the version that fits the period of the row'],
  ['network_name', 'Label of the network in the path of that link'],
  ['campaign_name', 'Label of the campaign in the path of that link'],
  ['adgroup_name', 'Label of the ad group in the path of that link'],
  ['creative_name', 'Label of the creative in the path of that link'],
  ['matched_partner_id', 'The partner the row names, else the one of its link'],
  ['matched_partner_name', 'Name of that partner now'],
  ['is_matched', 'Whether the row found its link; in a slice without networks, its partner'],
];

const joinedView = (slice: string) => `main.${identifier(`${slice}_links`)}`;

/** From the network down, with the column of `main.links` and the dimension of the network's id. */
const levels = ['network', 'campaign', 'adgroup', 'creative'].map((dimension, at) => {
  const id = at === 0 ? null : `${dimension}_id_network`;
  return { level: at + 1, dimension, label: `${dimension}_name`, id };
});
type Level = (typeof levels)[number];

/** How reports state that a level has no name (observed: organic, unusual values). */
const NAMELESS = `('', 'unknown')`;

/** No column of a slice has a comma: the service's lists cannot escape one. */
const keyName = (name: string) => identifier(`key,${name}`);
const [APP, START] = [keyName('app'), keyName('start')];

const levelsOf = ({ columns }: StoredSlice) =>
  levels.filter(({ dimension }) => columns.includes(dimension));

function keysOf(slice: StoredSlice) {
  const sliceLevels = levelsOf(slice);
  const keys = new Map([[APP, 's."app_token"']]);
  for (const { dimension } of sliceLevels)
    keys.set(keyName(dimension), `s.${identifier(dimension)}`);
  for (const { id } of sliceLevels) if (id !== null) keys.set(keyName(id), rowIdSql(slice, id));
  return keys;
}

const fittingName = (dimension: string) => keyName(`fitting,${dimension}`);

/** With looseness: 0 as reported, 1 with the row's id added or removed, 2 without ` (1)` if it has no id. */
function fittingLabels({ dimension, id }: Level) {
  const reported = `d.${keyName(dimension)}`;
  const label = (sql: string, looseness: number) => `{'label': ${sql}, 'looseness': ${looseness}}`;
  if (id === null) return `[${label(reported, 0)}]`;
  const stated = `(' (' || d.${keyName(id)} || ')')`;
  const bare = String.raw`regexp_replace(${reported}, ' \([0-9]+\)$', '')`;
  return `[${label(reported, 0)}] || case
            when d.${keyName(id)} is null then case when ${bare} <> ${reported} then [${label(bare, 2)}] else [] end
            when ends_with(${reported}, ${stated}) then [${label(`${reported} || ${stated}`, 1)}, ${label(`left(${reported}, -length(${stated}))`, 1)}]
            else [${label(`${reported} || ${stated}`, 1)}]
        end`;
}

const sameLabels = (slice: StoredSlice) =>
  [...keysOf(slice).keys()]
    .map((name) => `k.${name} is not distinct from s.${name}`)
    .join('\n    and ');

function rowsWithLink(slice: StoredSlice) {
  // Columns only: DuckDB would test any other condition on every pair.
  return `from keyed as s
left join keys as k on
    ${sameLabels(slice)}
left join settled on settled.key = k.key
left join chosen on chosen.key = k.key and chosen.${START} = s.${START}`;
}

const joinedLink = 'coalesce(settled.link, chosen.link)';

/**
 * The CTEs `keyed`, `keys`, `settled` and `chosen`: the link of each combination of labels and ids. Only for those that fit
 * several links does the query look at the periods, of which a large slice has millions.
 */
function fittingLinks(slice: StoredSlice) {
  const sliceLevels = levelsOf(slice);
  const fits = sliceLevels.map((level) => fitting(level, sliceLevels, slice));
  const keys = keysOf(slice);
  // Hours count as their day; for rows without a date, the links valid last count.
  const grain = dateDimensions.find((name) => slice.columns.includes(name)) ?? null;
  let start = `timestamp '9999-01-01'`;
  if (grain === 'hour') start = `date_trunc('day', s."hour")::timestamp`;
  else if (grain !== null) start = `s.${identifier(grain)}::timestamp`;
  const unit = grain === null || grain === 'hour' ? 'day' : grain;
  const end = `(p.${START} + interval '1 ${unit}')`;
  const columns = [
    ...slice.columns.map((name) => `s.${identifier(name)}`),
    ...[...keys].map(([name, sql]) => `${sql} as ${name}`),
    `${start} as ${START}`,
  ];
  return `with
keyed as not materialized (
    select
        ${columns.join(',\n        ')}
    from ${slice.table} as s
),
keys as materialized (
    select
        row_number() over () as key,
        d.*,
        ${sliceLevels.map((level) => `${fittingLabels(level)} as ${fittingName(level.dimension)}`).join(',\n        ')}
    from (
        select distinct ${[...keys.keys()].join(', ')}
        from keyed
        where ${APP} is not null and ${keyName('network')} is not null
    ) as d
),
crawls as (
    select app_token, arg_max(max_level, crawled_at) as max_level from ripen.link_crawls group by app_token
),
fits as (
${fits.join('\n    union all\n')}
),
best as materialized (
    select key, link, valid_from, valid_to, looseness
    from fits
    qualify rank() over (partition by key order by link.level desc) = 1
),
settled as (
    select key, any_value(link) as link
    from best
    group by key
    having count(distinct link) = 1
),
disputed as (
    select distinct k.key, s.${START}
    from keyed as s
    join (
        select * from keys where key in (select key from best) and key not in (select key from settled)
    ) as k on
    ${sameLabels(slice)}
),
nearest as (
    select
        p.key,
        p.${START},
        b.link,
        b.valid_from,
        b.looseness,
        case
            when b.valid_from >= ${end} then 1 + epoch(b.valid_from) - epoch(${end})
            when b.valid_to <= p.${START} then 1 + epoch(p.${START}) - epoch(b.valid_to)
            else 0
        end as distance
    from disputed as p
    join best as b on b.key = p.key
    qualify rank() over (partition by p.key, p.${START} order by distance) = 1
),
by_link as (
    select key, ${START}, arg_max(link, valid_from) as link, min(looseness) as looseness
    from nearest
    group by key, ${START}, link.token
),
chosen as (
    select key, ${START}, link
    from by_link
    qualify
        rank() over (partition by key, ${START} order by looseness) = 1
        and count(*) over (partition by key, ${START}, looseness) = 1
)`;
}

function linkedRows(slice: StoredSlice) {
  const columns = slice.columns.map((name) => `s.${identifier(name)}`);
  const hasLinks = namesLinks(slice);
  const fromLink = (name: string, type: string, as = name) =>
    hasLinks ? `${joinedLink}.${name} as ${as}` : `null::${type} as ${as}`;
  const ownPartner = namesPartners(slice) ? [rowIdSql(slice, 'partner_id')] : [];
  const partner = [...ownPartner, ...(hasLinks ? [`${joinedLink}.partner_id`] : [])].join(', ');
  return `${hasLinks ? fittingLinks(slice) : ''}
select
    ${[
      ...columns,
      fromLink('token', 'varchar', 'link_token'),
      fromLink('level', 'integer', 'link_level'),
      fromLink('name', 'varchar', 'link_name'),
      ...levels.map(({ label }) => fromLink(label, 'varchar')),
      'p.partner_id as matched_partner_id',
      'p.display_name as matched_partner_name',
      `${hasLinks ? `${joinedLink}.token` : 'p.partner_id'} is not null as is_matched`,
    ].join(',\n    ')}
${hasLinks ? rowsWithLink(slice) : `from ${slice.table} as s`}
left join main.partners as p on p.partner_id = coalesce(${partner}, null)`;
}

/** Returns a query for app and labels of rows loaded after `afterLoad` that have no link. */
export function unlinkedPaths(slice: StoredSlice, afterLoad: number): string {
  const table = `(select * from ${slice.table} where "_load_id" > ${afterLoad})`;
  const recent = { ...slice, table };
  const labels = levelsOf(slice).map(({ dimension }) => `s.${keyName(dimension)}`);
  return `${fittingLinks(recent)}
select distinct s.${APP} as app_token, [${labels.join(', ')}] as path
${rowsWithLink(recent)}
where ${joinedLink} is null and s.${APP} is not null and s.${keyName('network')} is not null`;
}

/** Returns a query for the versions of links of one level that fit a key, in the slice's UTC offset. */
function fitting({ level }: Level, sliceLevels: readonly Level[], { aheadSeconds }: StoredSlice) {
  const pathLevels = sliceLevels.filter((other) => other.level <= level);
  const deeperLevels = sliceLevels.filter((other) => other.level > level);
  // Whole labels: a join on what labels have in common would pair every `x (1)` with every `x (2)`. Unnests in subqueries:
  // DuckDB before 1.4.2 fails to order a join of the links with lists unnested beside the keys.
  const labels = pathLevels.reduce(
    (from, { dimension }) =>
      `(select *, unnest(${fittingName(dimension)}) as ${unnested(dimension)} from ${from})`,
    'keys',
  );
  const joined = pathLevels.map(
    ({ dimension, label }) => `v.${label} = k.${unnested(dimension)}.label`,
  );
  const looseness = pathLevels
    .map(({ dimension }) => `k.${unnested(dimension)}.looseness`)
    .join(' + ');
  const inDays = (column: string) =>
    aheadSeconds === 0
      ? column
      : `${column} + interval '${aheadSeconds} seconds' as ${column.slice(2)}`;
  const nothingBelow = deeperLevels
    .map(({ dimension }) => `coalesce(k.${keyName(dimension)}, '') in ${NAMELESS}`)
    .join(' and ');
  return `    select
        k.key,
        struct_pack(
            token := v.token,
            level := v.level,
            name := v.name,
            ${levels.map(({ label }) => `${label} := v.${label}`).join(',\n            ')},
            partner_id := coalesce(v.partner_id, v.inherited_partner_id)
        ) as link,
        ${inDays('v.valid_from')},
        ${inDays('v.valid_to')},
        ${looseness} as looseness
    from ${labels} as k
    join main.links_history as v on
        v.app_token = k.${APP}
        and v.level = ${level}
        and ${joined.join('\n        and ')}
    join crawls as c on c.app_token = v.app_token
    where ${deeperLevels.length === 0 ? 'true' : `v.level = c.max_level or (${nothingBelow})`}`;
}

const unnested = (dimension: string) => identifier(`of,${dimension}`);
