delete from main."daily" where true
