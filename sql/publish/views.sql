-- What the views `_maturation` and `_projected` of each slice are computed from, besides the slice's own periods.
-- Returns one row per view: name, slice, stamp (equal only if definition and measurements are).
with measured as (
    select slice, bit_xor(hash(m)) as digest from ripen_internal.maturation as m group by slice
),

projected as (
    select slice, bit_xor(hash(p)) as digest from ripen_internal.projections as p group by slice
),

maturing as (
    select slice, bit_xor(hash(m)) as digest from ripen_internal.maturing as m group by slice
),

metrics as (
    select slice, bit_xor(hash(m)) as digest from ripen.slice_metrics as m group by slice
)

select
    v.view_name as name,
    t.slice,
    md5(concat_ws('|', v.sql, m.digest, p.digest, s.digest, r.digest)) as stamp
from (select distinct slice from ripen.slice_tables) as t
join duckdb_views() as v
    on
        v.database_name = current_database()
        and v.schema_name = 'main'
        and not v.temporary
        and v.view_name in (t.slice || '_maturation', t.slice || '_projected')
left join measured as m on m.slice = t.slice
left join projected as p on p.slice = t.slice
left join metrics as s on s.slice = t.slice
left join maturing as r on r.slice = t.slice and v.view_name = t.slice || '_projected'
