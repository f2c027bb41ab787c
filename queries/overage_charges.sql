-- name: PutOverageCharge :exec
-- Sets the terms of a meter.
INSERT INTO overage_charges (tenant_id, period_start, meter, charging, included, price_cents, units, used, cents)
VALUES (@tenant_id, @period_start, @meter, true, @included, @price_cents, @units, 0, 0)
ON CONFLICT (tenant_id, period_start, meter) DO UPDATE SET charging = true, included = excluded.included, price_cents = excluded.price_cents,
    units = excluded.units
WHERE (overage_charges.charging, overage_charges.included, overage_charges.price_cents, overage_charges.units)
    IS DISTINCT FROM (true, excluded.included, excluded.price_cents, excluded.units);

-- name: StopOverageCharges :exec
-- Meters that the plan doesn't charge any more.
UPDATE overage_charges SET charging = false
WHERE tenant_id = @tenant_id AND period_start = @period_start AND charging AND NOT meter = ANY (@meters::text[]);

-- name: ListOverageCharges :many
SELECT * FROM overage_charges WHERE tenant_id = @tenant_id AND period_start = ANY (@period_starts::timestamptz[]) ORDER BY period_start, meter;

-- name: SetOverageCents :exec
UPDATE overage_charges SET used = @used, cents = @cents
WHERE tenant_id = @tenant_id AND period_start = @period_start AND meter = @meter;

-- name: SetWaivedOverage :exec
UPDATE overage_charges SET waived_cents = @waived_cents
WHERE tenant_id = @tenant_id AND period_start = @period_start AND meter = @meter;
