select count(*) as numbers
from (
    select "o'brien said ""hi""_events" as text
    from "ripen staged"
    where case when length("o'brien said ""hi""_events") > 15 and regexp_full_match("o'brien said ""hi""_events", '-?[0-9]{1,18}(\.[0-9]{0,18}0*)?') then not coalesce(cast("o'brien said ""hi""_events" as DECIMAL(36,18)) in (try_cast(cast(cast("o'brien said ""hi""_events" as DOUBLE) as VARCHAR) as DECIMAL(36,18)), try_cast(format('{:.15e}', cast("o'brien said ""hi""_events" as DOUBLE)) as DECIMAL(36,18)), try_cast(format('{:.16e}', cast("o'brien said ""hi""_events" as DOUBLE)) as DECIMAL(36,18))), false) end
    union all
    select cast("o'brien said ""hi""_events" as VARCHAR)
    from main."daily"
    where case when length(cast("o'brien said ""hi""_events" as VARCHAR)) > 15 then not coalesce(cast(cast("o'brien said ""hi""_events" as VARCHAR) as DECIMAL(19,0)) in (try_cast(cast(cast(cast("o'brien said ""hi""_events" as VARCHAR) as DOUBLE) as VARCHAR) as DECIMAL(19,0)), try_cast(format('{:.15e}', cast(cast("o'brien said ""hi""_events" as VARCHAR) as DOUBLE)) as DECIMAL(19,0)), try_cast(format('{:.16e}', cast(cast("o'brien said ""hi""_events" as VARCHAR) as DOUBLE)) as DECIMAL(19,0))), false) end
);
select count(*) as numbers
from (
    select "my event_revenue" as text
    from "ripen staged"
    where case when length("my event_revenue") > 15 and regexp_full_match("my event_revenue", '-?[0-9]{1,18}(\.[0-9]{0,18}0*)?') then not coalesce(cast("my event_revenue" as DECIMAL(36,18)) in (try_cast(cast(cast("my event_revenue" as DOUBLE) as VARCHAR) as DECIMAL(36,18)), try_cast(format('{:.15e}', cast("my event_revenue" as DOUBLE)) as DECIMAL(36,18)), try_cast(format('{:.16e}', cast("my event_revenue" as DOUBLE)) as DECIMAL(36,18))), false) end
    union all
    select cast("my event_revenue" as VARCHAR)
    from main."daily"
    where case when length(cast("my event_revenue" as VARCHAR)) > 15 then not coalesce(cast(cast("my event_revenue" as VARCHAR) as DECIMAL(18,6)) in (try_cast(cast(cast(cast("my event_revenue" as VARCHAR) as DOUBLE) as VARCHAR) as DECIMAL(18,6)), try_cast(format('{:.15e}', cast(cast("my event_revenue" as VARCHAR) as DOUBLE)) as DECIMAL(18,6)), try_cast(format('{:.16e}', cast(cast("my event_revenue" as VARCHAR) as DOUBLE)) as DECIMAL(18,6))), false) end
)
