delete from main."daily" where "day" >= DATE '2026-01-05' and "day" < DATE '2026-01-08'
