package call

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/batch"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// overdueAtOnce is the maximum number of calls per run of MissOverdue.
const overdueAtOnce = 100

// EndCall hangs up. A live call ends; the caller can take back a ringing one. It
// has no effect on a call that is over.
func (s *Service) EndCall(ctx context.Context, c tenancy.Caller, sessionID, userID string) (View, error) {
	if err := speaksFor(c, sessionID, userID); err != nil {
		return View{}, err
	}
	return s.decide(ctx, c.TenantID, sessionID, func(tx pgx.Tx, now *state) error {
		if err := now.isParty(userID); err != nil {
			return err
		}
		switch {
		case now.session.State == session.Live:
			return s.end(ctx, tx, now, session.Ending{By: &userID})
		case !now.rings():
			return nil
		case userID == now.call.ToUserID:
			now.refusal = problem.Conflicting("the call is still ringing: decline it")
			return nil
		default:
			return s.end(ctx, tx, now, session.Ending{By: &userID, CancelledAs: session.TakenBack})
		}
	})
}

// MissCall cancels a call that rang for too long. It returns how long the call
// still rings, or 0 when nothing remains to do.
func (s *Service) MissCall(ctx context.Context, tenantID, sessionID string) (wait time.Duration, err error) {
	_, err = s.decide(ctx, tenantID, sessionID, func(_ pgx.Tx, now *state) error {
		wait = 0
		if now.rings() {
			wait = now.call.RingExpiresAt.Sub(now.now)
		}
		return nil
	})
	if problem.Is(err, "not_found") {
		return 0, nil
	}
	return wait, err
}

// MissOverdue cancels calls that ring for too long, for example because their job was
// lost. Each has its own transaction, and a failure doesn't stop the others.
func (s *Service) MissOverdue(ctx context.Context) error {
	rows, err := db.New(s.config.Pool).ListOverdueCalls(ctx, overdueAtOnce)
	if err != nil {
		return fmt.Errorf("list overdue calls: %w", err)
	}
	return batch.Each(rows, func(r db.ListOverdueCallsRow) error {
		_, err := s.MissCall(ctx, r.TenantID, r.SessionID)
		return err
	})
}
