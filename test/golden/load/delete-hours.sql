delete from main."daily"
where "hour" >= TIMESTAMP '2026-01-05' and "hour" < TIMESTAMP '2026-01-08'
