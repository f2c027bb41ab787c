package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/problem"
	"showfloor/internal/session"
)

// overdueAtOnce bounds how many calls one look for overdue ones sees to.
const overdueAtOnce = 100

// EndCall hangs up: a live call has ended, and the caller takes one back that
// rings. Hanging up again changes nothing.
func (s *Service) EndCall(ctx context.Context, c account.Caller, sessionID, userID string) (View, error) {
	if err := speaksFor(c, sessionID, userID); err != nil {
		return View{}, err
	}
	return s.decide(ctx, c.TenantID, sessionID, func(tx pgx.Tx, now *state) (tell, error) {
		if err := now.isParty(userID); err != nil {
			return nil, err
		}
		switch {
		case now.session.State == session.Live:
			return s.end(ctx, tx, now, session.Ending{By: &userID})
		case !now.rings():
			return nil, nil
		case userID == now.call.ToUserID:
			now.refusal = problem.Conflicting("the call rings still: decline it")
			return nil, nil
		default:
			return s.end(ctx, tx, now, session.Ending{By: &userID, CancelledAs: session.TakenBack})
		}
	})
}

// MissCall cancels a call that rang for too long. It returns how long there is to
// wait when it doesn't yet, and 0 when nothing is left to do.
func (s *Service) MissCall(ctx context.Context, tenantID, sessionID string) (wait time.Duration, err error) {
	_, err = s.decide(ctx, tenantID, sessionID, func(_ pgx.Tx, now *state) (tell, error) {
		wait = 0
		if now.rings() {
			wait = now.call.RingExpiresAt.Sub(now.now)
		}
		return nil, nil
	})
	if problem.Is(err, "not_found") {
		return 0, nil
	}
	return wait, err
}

// MissOverdue cancels the calls whose ringing nobody has ended in time, such as
// those whose job is lost. Each is a transaction of its own, and one that fails
// doesn't keep the others from their end.
func (s *Service) MissOverdue(ctx context.Context) error {
	rows, err := db.New(s.config.Pool).ListOverdueCalls(ctx, overdueAtOnce)
	if err != nil {
		return fmt.Errorf("list overdue calls: %w", err)
	}
	var errs []error
	for _, r := range rows {
		_, err := s.MissCall(ctx, r.TenantID, r.SessionID)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
