create or replace temp view "ripen typed" as
select 0 as "window,", 0 as "part,", null::DATE as "day", null::VARCHAR as "app ""quoted""", null::VARCHAR as "order", null::BIGINT as "o'brien said ""hi""_events", null::DECIMAL(18,6) as "my event_revenue", null::DOUBLE as "value", null::JSON as "attr_dependency", null::JSON as "_extra", null::VARCHAR as "rejected," limit 0
