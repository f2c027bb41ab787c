-- +goose Up
SET LOCAL lock_timeout = '200ms'; -- or readers would wait behind the ALTER TABLE; Migrate repeats it
-- The minutes watched on SRS servers, and the minutes on air of streams that only they have, by tenant and hour. No server of ours measures
-- them, so each sample counts as a whole minute.
CREATE VIEW srs_hours AS
SELECT a.tenant_id, a.hour, sum(m.watched)::bigint AS watched_minutes,
    coalesce(sum(m.minutes) FILTER (WHERE NOT EXISTS (SELECT 1 FROM audience_hours o
        WHERE o.tenant_id = a.tenant_id AND o.hour = a.hour AND o.stream_id = a.stream_id AND o.node <> 'srs')), 0)::bigint AS live_minutes
FROM audience_hours a CROSS JOIN LATERAL (SELECT sum(v) AS watched, count(v) AS minutes FROM unnest(a.viewers) AS v) m
WHERE a.node = 'srs' AND m.minutes > 0 GROUP BY a.tenant_id, a.hour;

-- The same minutes of each closed hour, stored. NULL in the hours that a server of a former version has summed; analytics.SumFigures fills
-- them in.
ALTER TABLE figure_hours ADD COLUMN srs_watched_minutes bigint, ADD COLUMN srs_live_minutes bigint;
