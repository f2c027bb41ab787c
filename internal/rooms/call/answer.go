package call

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// AnswerCall admits the callee and makes the call live, if a node has the room and
// a seat is reserved.
func (s *Service) AnswerCall(ctx context.Context, c tenancy.Caller, sessionID, userID string) (Admission, error) {
	var view session.View
	var way session.SeatReservation
	v, err := s.decide(ctx, c.TenantID, sessionID, func(tx pgx.Tx, now *state) error {
		if err := now.isCallee(userID); err != nil {
			return err
		}
		if !now.rings() {
			now.refusal = now.errOver()
			return nil
		}
		var err error
		if now.session, err = s.config.Sessions.AnswerTx(ctx, tx, now.session, now.call); err != nil {
			return err
		}
		if now.session, way, err = s.config.Sessions.ReserveSeatTx(ctx, tx, now.session, userID); err != nil {
			return err
		}
		if view, err = s.config.Sessions.ViewOf(ctx, db.New(tx), now.session); err != nil {
			return err
		}
		return s.stopRinging(ctx, tx, now.session, now.call, now.now, answered)
	})
	if err != nil {
		return Admission{}, err
	}
	v.View = view
	return s.admission(ctx, v, way)
}

// DeclineCall cancels a ringing call, for the callee. It has no effect on a call
// that was declined or missed already.
func (s *Service) DeclineCall(ctx context.Context, c tenancy.Caller, sessionID, userID string) (View, error) {
	return s.decide(ctx, c.TenantID, sessionID, func(tx pgx.Tx, now *state) error {
		if err := now.isCallee(userID); err != nil {
			return err
		}
		switch {
		case now.cancelledAs(session.Declined), now.cancelledAs(session.Missed):
			return nil
		case !now.rings():
			now.refusal = now.errOver()
			return nil
		}
		return s.end(ctx, tx, now, session.Ending{By: &userID, CancelledAs: session.Declined})
	})
}

// decide runs fn with a locked call. If the call rang for too long, decide first
// marks it as missed, because its job may be late; this commits even if fn refuses.
// If fn sets now.refusal, decide returns it after the commit.
func (s *Service) decide(ctx context.Context, tenantID, sessionID string, fn func(tx pgx.Tx, now *state) error) (View, error) {
	release, err := s.config.Sessions.TakeTurn(ctx, sessionID)
	if err != nil {
		return View{}, err
	}
	defer release()
	var now state
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		if now, err = lock(ctx, tx, tenantID, sessionID); err != nil {
			return err
		}
		if now.rangOut() {
			if err := s.end(ctx, tx, &now, session.Ending{CancelledAs: session.Missed}); err != nil {
				return err
			}
		}
		return fn(tx, &now)
	})
	if err != nil {
		return View{}, err
	}
	return View{View: session.View{Session: now.session}, Call: now.call}, now.refusal
}

// end ends a call; e says how a ringing call is cancelled.
func (s *Service) end(ctx context.Context, tx pgx.Tx, now *state, e session.Ending) (err error) {
	if now.session, err = s.config.Sessions.EndTx(ctx, tx, now.session, e); err != nil {
		return err
	}
	found, err := db.New(tx).GetCall(ctx, db.GetCallParams{TenantID: now.call.TenantID, SessionID: now.call.SessionID})
	now.call = found.Call
	return err
}
