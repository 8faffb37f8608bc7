-- A ratio over any rows: a sum over a sum, of the rows alone in which both are known, so that on a `_final` view nothing that
-- is still maturing stands above or below the line. NULL where there is nothing to divide by.
-- Returns nothing.
create or replace macro main.ratio(numerator, denominator) as
    sum(numerator) filter (where numerator is not null and denominator is not null)
    / nullif(sum(denominator) filter (where numerator is not null and denominator is not null), 0)
