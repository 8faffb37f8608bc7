select count(*) as rows from "ripen typed" where "hour" is null or "day" is null or "week" is null or "month" is null or "quarter" is null or "year" is null
