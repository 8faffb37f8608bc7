-- What will the revenue of the newest days be once it is final, 7 days after the install?
-- A projection from how the totals of earlier days grew, night by night, with an interval that covered four of five of them.
select
    day,
    any_value(age_days) as age,
    round(sum(value), 2) as known,
    round(sum(projected), 2) as expected,
    round(sum(low), 2) as low,
    round(sum(high), 2) as high,
    any_value(basis) as basis
from network_daily_projected
where metric = 'all_revenue_total_d7'
group by day
order by day desc
limit 7
