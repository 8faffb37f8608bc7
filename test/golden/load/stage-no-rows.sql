create or replace temp view "ripen typed" as
select 0 as "window,", 0 as "part,", * exclude ("_load_id"), null::VARCHAR as "rejected," from main."daily" limit 0
