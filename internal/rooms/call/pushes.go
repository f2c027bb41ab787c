package call

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/push"
	"showfloor/internal/rooms/session"
)

const (
	// answered is the reason of the push that stops the ringing of a call that was answered. The others are the reasons of a cancelled call.
	answered = "answered"
	// stoppedFor is how long that push is kept for a device that is offline, and missedFor how long a missed call is shown.
	stoppedFor, missedFor = time.Minute, 24 * time.Hour
)

// ringPush makes the callee's devices ring.
func ringPush(row db.Session, c db.Call) push.Args {
	title := c.FromUserID
	if c.FromDisplayName != nil {
		title = *c.FromDisplayName
	}
	return push.Args{
		TenantID: row.TenantID, ProjectID: row.ProjectID, UserID: c.ToUserID, Reason: push.Ringing, Title: title, Priority: push.High,
		Data: map[string]string{
			"service": "1", "type": "call.invite", "sessionId": row.ID, "kind": c.Kind, "from": c.FromUserID,
		},
		ExpiresAt: timestamp.From(c.RingExpiresAt),
	}
}

var _ session.Calls = (*Service)(nil)

// RingingOverTx implements session.Calls. The call may end as a session, by its tenant or with it.
func (s *Service) RingingOverTx(ctx context.Context, tx pgx.Tx, row db.Session, c db.Call, reason string) error {
	return s.stopRinging(ctx, tx, row, c, row.UpdatedAt, reason)
}

// stopRinging adds the push that ends the ringing on all the callee's devices. Without a project none of them rings.
func (s *Service) stopRinging(ctx context.Context, tx pgx.Tx, row db.Session, c db.Call, now time.Time, reason string) error {
	if row.ProjectID == nil {
		return nil
	}
	p := ringPush(row, c)
	p.Reason, p.ExpiresAt = push.RingingOver, timestamp.From(now.Add(stoppedFor))
	if reason == session.Missed || reason == session.TakenBack {
		p.Reason, p.ExpiresAt = push.CallMissed, timestamp.From(now.Add(missedFor))
	}
	p.Data["type"], p.Data["reason"] = "call.cancel", reason
	if _, err := s.config.Jobs.InsertTx(ctx, tx, p, nil); err != nil {
		return fmt.Errorf("insert push: %w", err)
	}
	return nil
}

// IsRinging reports whether a call still rings. Its push isn't sent otherwise.
func (s *Service) IsRinging(ctx context.Context, tenantID, sessionID string) (bool, error) {
	rings, err := db.New(s.config.Pool).IsCallRinging(ctx, db.IsCallRingingParams{TenantID: tenantID, SessionID: sessionID})
	if err != nil {
		return false, fmt.Errorf("look at a call: %w", err)
	}
	return rings, nil
}
