select
    "window," as window_no,
    "part," as part_no,
    [cast(sum(s0) as VARCHAR), sum(s1)::varchar, regexp_replace(regexp_replace(regexp_replace(cast(sum(s2) as VARCHAR), '^-?', '\000000000000000000000000000'), '\d{26}$', '.\0'), '^(-?)0+(\d)', '\1\2')]::varchar[] as sums,
    [sum(g0), sum(g1), sum(g2)]::double[] as magnitudes,
    [sum(z0), sum(z1), sum(z2)]::varchar[] as non_zero,
    to_json(coalesce(list({start: p::varchar, rows: n, values: v}) filter (where not r), []))::varchar as periods
from "ripen totals"
group by "window,", "part,"
