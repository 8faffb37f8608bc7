-- Records what appeared, vanished or changed in the catalog since `keep_items`, a change per field; nothing the first time. An app that
-- vanished has its name.
-- $1 run id
-- Returns nothing.
insert into ripen.schema_changes
with changes as (
    select
        filter || ' ' || id as name,
        case
            when o.seen_at is null then [{change: 'item appeared', before: null::varchar, after: null::varchar}]
            when n.seen_at is null then [{change: 'item vanished', before: case when filter = 'apps' then o.name end, after: null::varchar}]
            else list_filter(
                [
                    {change: 'name changed', before: o.name, after: n.name},
                    {change: 'short name changed', before: o.short_name, after: n.short_name},
                    {change: 'section changed', before: o.section, after: n.section},
                    {change: 'formatting changed', before: o.formatting, after: n.formatting},
                    {change: 'description changed', before: o.description, after: n.description},
                    {change: 'attributes changed', before: o.attributes, after: n.attributes}
                ],
                lambda field: field.before is distinct from field.after
            )
        end as fields
    from catalog_before as o
    full join ripen.catalog as n using (filter, id)
    where exists (select 1 from catalog_before)
)

select
    $1 as run_id,
    'catalog' as object,
    c.name,
    f.field.change,
    f.field.before,
    f.field.after,
    now() at time zone 'UTC' as seen_at
from changes as c,
    unnest(c.fields) as f(field)
