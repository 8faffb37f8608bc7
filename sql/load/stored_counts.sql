-- The rows that replaced periods of a slice now have, from the totals taken after they were replaced.
-- $1 slice
-- Returns one row per period with rows, and in a cube per age: start_day, age, rows, non_zero.
select
    p as start_day,
    age,
    sum(n)::bigint as rows,
    sum(z)::bigint as non_zero
from "ripen after"
where slice = $1
group by p, age
