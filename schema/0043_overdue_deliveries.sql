-- +goose Up

-- The DROP comes first: after the CREATE it would have to wait, with the table locked, for transactions that wait for the CREATE.
DROP INDEX webhook_deliveries_open_idx;
-- Deliveries with a scheduled attempt. The condition is on next_attempt_at, not on status: the planner read an index that a
-- query by status may use as a whole for each new delivery (JoinLines) while statistics said that hardly any delivery was open.
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (id) WHERE next_attempt_at IS NOT NULL;
