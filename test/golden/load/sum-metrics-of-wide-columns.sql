select
    "window," as window_no,
    "part," as part_no,
    [coalesce(try_cast((cast(sum(s0) as VARCHAR) || 'e-0') as DECIMAL(38,0))::varchar, cast((cast(sum(s0) as VARCHAR) || 'e-0') as DOUBLE)::varchar), sum(s1)::varchar, coalesce(try_cast((cast(sum(s2) as VARCHAR) || 'e-26') as DECIMAL(38,26))::varchar, cast((cast(sum(s2) as VARCHAR) || 'e-26') as DOUBLE)::varchar)]::varchar[] as sums,
    [sum(g0), sum(g1), sum(g2)]::double[] as magnitudes,
    [sum(z0), sum(z1), sum(z2)]::varchar[] as non_zero
from "ripen totals"
group by "window,", "part,"
