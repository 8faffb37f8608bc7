select count(*) as rows from "ripen typed" where "day" is null
