/**
 * The rows of a slice with the link and the partner each belongs to, as SQL. Pure.
 *
 * The rule. A row belongs to the deepest link whose path has exactly the row's labels, on the levels the slice has, with
 * nothing named below it. Labels are compared as they are. One difference is allowed: where the row states the network's
 * id of a name, ` (id)` may stand after either of the two; where it states none, an ` (id)` after the reported name may
 * be missing from the link. Of several links, or versions of one, the one valid in the row's period counts, else the
 * nearest one in time; then the one whose labels differ least. Whatever still leaves two links to choose from stays
 * unmatched.
 */

import { dateDimensions } from '../model/dimension.ts';
import { identifier } from '../warehouse/sql.ts';
import { namesLinks, namesPartners, rowIdSql, type StoredSlice } from './stored-slices.ts';

interface Level {
  readonly level: number;
  readonly dimension: string;
  /** The column of `main.links` with the label of this level. */
  readonly label: string;
  /** What the network itself identifies it by; networks have no such id. */
  readonly id: string | null;
}

/** From the network down. */
const levels: readonly Level[] = [
  { level: 1, dimension: 'network', label: 'network_name', id: null },
  { level: 2, dimension: 'campaign', label: 'campaign_name', id: 'campaign_id_network' },
  { level: 3, dimension: 'adgroup', label: 'adgroup_name', id: 'adgroup_id_network' },
  { level: 4, dimension: 'creative', label: 'creative_name', id: 'creative_id_network' },
];

/** How reports say that nothing is named on a level (observed: organic, odd values). */
const NAMELESS = `('', 'unknown')`;

/** A value that decides which link a row belongs to. */
interface Key {
  /** Quoted. */
  readonly name: string;
  /** Over the alias `s`. */
  readonly sql: string;
}

/** A column beside those of a slice, of which none has a comma in its name, as the service's lists have no escape for one. */
const keyName = (name: string): string => identifier(`key,${name}`);
const [APP, START] = [keyName('app'), keyName('start')];

/** How deep the links of each app were last crawled. */
const CRAWLS = `select app_token, arg_max(max_level, crawled_at) as max_level from ripen.link_crawls group by app_token`;

function levelsOf({ columns }: StoredSlice): readonly Level[] {
  return levels.filter(({ dimension }) => columns.includes(dimension));
}

function keysOf(slice: StoredSlice): Key[] {
  const own = levelsOf(slice);
  const labels = own.map(({ dimension }) => ({ name: keyName(dimension), sql: `s.${identifier(dimension)}` }));
  const ids = own.flatMap(({ id }) => (id === null ? [] : [{ name: keyName(id), sql: rowIdSql(slice, id) }]));
  return [{ name: APP, sql: 's."app_token"' }, ...labels, ...ids];
}

function grainOf({ columns }: StoredSlice): string | null {
  return dateDimensions.find((name) => columns.includes(name)) ?? null;
}

/** Begin of the row's period; hours are judged by their day, and rows without a date by what is valid last. */
function periodStart(slice: StoredSlice): string {
  const grain = grainOf(slice);
  if (grain === null) return `timestamp '9999-01-01'`;
  const column = `s.${identifier(grain)}`;
  return grain === 'hour' ? `date_trunc('day', ${column})::timestamp` : `${column}::timestamp`;
}

function periodEnd(slice: StoredSlice): string {
  const grain = grainOf(slice) ?? 'day';
  return `(p.${START} + interval '1 ${grain === 'hour' ? 'day' : grain}')`;
}

/** A column of the lists of labels that fit a level, each with how loosely. */
const fittingName = (dimension: string): string => keyName(`fitting,${dimension}`);

/**
 * The labels of links that fit a reported one, each with how loosely: itself 0; with the row's id added or removed 1; of a row without an
 * id, without the number in brackets that ends it, 2.
 */
function fittingLabels({ dimension, id }: Level): string {
  const reported = `d.${keyName(dimension)}`;
  const label = (sql: string, looseness: number): string => `{'label': ${sql}, 'looseness': ${looseness}}`;
  if (id === null) return `[${label(reported, 0)}]`;
  const stated = `(' (' || d.${keyName(id)} || ')')`;
  const bare = String.raw`regexp_replace(${reported}, ' \([0-9]+\)$', '')`;
  return `[${label(reported, 0)}] || case
            when d.${keyName(id)} is null then case when ${bare} <> ${reported} then [${label(bare, 2)}] else [] end
            when ends_with(${reported}, ${stated}) then [${label(`${reported} || ${stated}`, 1)}, ${label(`left(${reported}, -length(${stated}))`, 1)}]
            else [${label(`${reported} || ${stated}`, 1)}]
        end`;
}

function sameLabels(slice: StoredSlice): string {
  return keysOf(slice)
    .map(({ name }) => `k.${name} is not distinct from s.${name}`)
    .join('\n    and ');
}

/** What a row is read from: `s`, with at most one `settled` or `chosen` link joined to it. */
function rowsWithLink(slice: StoredSlice): string {
  // Comparisons of columns only: other conditions DuckDB tries on every pair, or computes again for each.
  return `from keyed as s
left join keys as k on
    ${sameLabels(slice)}
left join settled on settled.key = k.key
left join chosen on chosen.key = k.key and chosen.${START} = s.${START}`;
}

/** The link of a row, a struct, after those joins. */
const joinedLink = 'coalesce(settled.link, chosen.link)';

/**
 * The CTEs `keyed`, `keys`, `settled` and `chosen`: the one link that fits each combination of labels and ids. Most fit one link whenever
 * they occur; only for the others are the periods looked at, of which a large slice has millions.
 */
function fittingLinks(slice: StoredSlice): string {
  const own = levelsOf(slice);
  const fits = own.map((level) => fitting(level, own, slice));
  const keys = keysOf(slice);
  const columns = slice.columns.map((name) => `s.${identifier(name)}`);
  return `with
keyed as not materialized (
    select
        ${[...columns, ...keys.map(({ name, sql }) => `${sql} as ${name}`), `${periodStart(slice)} as ${START}`].join(',\n        ')}
    from ${slice.table} as s
),
keys as materialized (
    select
        row_number() over () as key,
        d.*,
        ${own.map((level) => `${fittingLabels(level)} as ${fittingName(level.dimension)}`).join(',\n        ')}
    from (
        select distinct ${keys.map(({ name }) => name).join(', ')}
        from keyed
        where ${APP} is not null and ${keyName('network')} is not null
    ) as d
),
crawls as (
    ${CRAWLS}
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
            when b.valid_from >= ${periodEnd(slice)} then 1 + epoch(b.valid_from) - epoch(${periodEnd(slice)})
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

/**
 * A query of a slice's columns, then the joined ones, NULL where its rows name neither link nor partner.
 */
export function linkedRows(slice: StoredSlice): string {
  const own = slice.columns.map((name) => `s.${identifier(name)}`);
  const hasLinks = namesLinks(slice);
  const fromLink = (name: string, type: string, as = name): string =>
    hasLinks ? `${joinedLink}.${name} as ${as}` : `null::${type} as ${as}`;
  const ownPartner = namesPartners(slice) ? [rowIdSql(slice, 'partner_id')] : [];
  const partner = [...ownPartner, ...(hasLinks ? [`${joinedLink}.partner_id`] : [])].join(', ');
  return `${hasLinks ? fittingLinks(slice) : ''}
select
    ${[
      ...own,
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

/** The app and the labels, from the network down, of rows that find no link: of loads after one. */
export function unlinkedPaths(slice: StoredSlice, afterLoad: number): string {
  const recent = { ...slice, table: `(select * from ${slice.table} where "_load_id" > ${afterLoad})` };
  const labels = levelsOf(slice).map(({ dimension }) => `s.${keyName(dimension)}`);
  return `${fittingLinks(recent)}
select distinct s.${APP} as app_token, [${labels.join(', ')}] as path
${rowsWithLink(recent)}
where ${joinedLink} is null and s.${APP} is not null and s.${keyName('network')} is not null`;
}

/** The versions on one level that fit a key, valid by the clock of the slice's days, and how loosely. */
function fitting({ level }: Level, own: readonly Level[], { aheadSeconds }: StoredSlice): string {
  const [above, below] = [own.filter((other) => other.level <= level), own.filter((other) => other.level > level)];
  // Equal to one of few labels: a join on what the labels have in common would pair every `x (1)` with every `x (2)`.
  const labels = above.map(({ dimension }) => `unnest(k.${fittingName(dimension)}) as ${unnested(dimension)}(fits)`);
  const joined = above.map(({ dimension, label }) => `v.${label} = ${unnested(dimension)}.fits.label`);
  const looseness = above.map(({ dimension }) => `${unnested(dimension)}.fits.looseness`).join(' + ');
  const inDays = (column: string): string =>
    aheadSeconds === 0 ? column : `${column} + interval '${aheadSeconds} seconds' as ${column.slice(2)}`;
  const nothingBelow = below
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
    from ${['keys as k', ...labels].join(', ')}
    join main.links_history as v on
        v.app_token = k.${APP}
        and v.level = ${level}
        and ${joined.join('\n        and ')}
    join crawls as c on c.app_token = v.app_token
    where ${below.length === 0 ? 'true' : `v.level = c.max_level or (${nothingBelow})`}`;
}

const unnested = (dimension: string): string => identifier(`of,${dimension}`);
