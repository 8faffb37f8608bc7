select
    "window," as window_no,
    "part," as part_no,
    [sum(s0)::varchar, sum(s1)::varchar]::varchar[] as sums,
    [sum(g0), sum(g1)]::double[] as magnitudes,
    [sum(z0), sum(z1)]::varchar[] as non_zero,
    to_json(coalesce(list({start: p::varchar, rows: n, values: v}) filter (where not r), []))::varchar as periods
from "ripen totals"
group by "window,", "part,"
