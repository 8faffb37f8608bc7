-- The rows that replaced periods now have, from the totals taken after they were replaced.
-- Returns one row per slice and period with rows, and in a cube per age: slice, start_day, age, rows, values (without zeros).
select
    slice,
    p as start_day,
    age,
    sum(n)::bigint as rows,
    sum(z)::bigint as values
from "ripen after"
group by slice, p, age
