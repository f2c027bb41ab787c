-- +goose Up
-- Deliveries are written after the commit of their event, no longer in its transaction. Servers of the previous version may run
-- beside new ones while this upgrade is under way. So each of the files 0044 to 0046 locks one table only: their transactions
-- lock events and event_fanouts in both orders.
ALTER TABLE events
    -- The endpoints that get the event, as its transaction found them; empty once their deliveries are written.
    ADD COLUMN endpoint_ids text[] NOT NULL DEFAULT '{}',
    -- When the deliveries were written; null until then. An event that no endpoint gets has the time of the event. The default
    -- marks the existing events without writing their rows again, and the events of servers of the previous version, which write
    -- the deliveries themselves. Drop it together with the view event_fanouts.
    ADD COLUMN fanned_at timestamptz DEFAULT now();
