package webhook

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// loadDeliveries reads deliveries for their next attempts; nil for one that
// doesn't exist.
func (s *Service) loadDeliveries(ctx context.Context, ids []string) ([]*db.ListDeliveriesForAttemptRow, error) {
	rows, err := db.New(s.config.Pool).ListDeliveriesForAttempt(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("get deliveries: %w", err)
	}
	byID := make(map[string]*db.ListDeliveriesForAttemptRow, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	out := make([]*db.ListDeliveriesForAttemptRow, len(ids))
	for i, deliveryID := range ids {
		out[i] = byID[deliveryID]
	}
	return out, nil
}

// recorded says whether an attempt was recorded, and with which delivery the
// worker continues.
type recorded struct {
	done bool
	next string
}

// recordLoneAttempts records attempts in one commit. It skips a delivery in three
// cases: another delivery waits for it and the worker does not continue with
// that one; its row is locked; or another worker has recorded the attempt.
func (s *Service) recordLoneAttempts(ctx context.Context, attempts []db.RecordAttemptParams) ([]recorded, error) {
	var p db.RecordLoneAttemptsParams
	for _, a := range attempts {
		p.ID = append(p.ID, a.ID)
		p.TenantID = append(p.TenantID, a.TenantID)
		p.Tries = append(p.Tries, a.Tries)
		p.Status = append(p.Status, a.Status)
		p.NextAttemptAt = append(p.NextAttemptAt, orZero(a.NextAttemptAt))
		p.ResponseStatus = append(p.ResponseStatus, orZero(a.ResponseStatus))
		p.ResponseBody = append(p.ResponseBody, orZero(a.ResponseBody))
		p.DurationMs = append(p.DurationMs, orZero(a.DurationMs))
		p.Error = append(p.Error, orZero(a.Error))
		p.Entry = append(p.Entry, string(a.Entry))
		p.DeliveredAt = append(p.DeliveredAt, orZero(a.DeliveredAt))
		p.Hold = append(p.Hold, a.Hold)
	}
	rows, err := db.New(s.config.Pool).RecordLoneAttempts(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("record attempts: %w", err)
	}
	byID := make(map[string]recorded, len(rows))
	for _, r := range rows {
		byID[r.ID] = recorded{done: true, next: orZero(r.NextID)}
	}
	out := make([]recorded, len(attempts))
	for i, a := range attempts {
		out[i] = byID[a.ID]
	}
	return out, nil
}

// orZero returns the value, or the zero value, which the query stores as NULL.
func orZero[T string | int32 | time.Time](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}
