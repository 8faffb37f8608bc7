select count(*) as rows from typed where "day" is null
