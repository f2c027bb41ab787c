package call

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/postgres"
	"showfloor/internal/session"
)

// AnswerCall admits the callee and makes the call live, if a node has the room and
// a seat is held.
func (s *Service) AnswerCall(ctx context.Context, c account.Caller, sessionID, userID string) (Admission, error) {
	var view session.View
	var way session.Way
	v, err := s.decide(ctx, c.TenantID, sessionID, func(tx pgx.Tx, now *state) (tell, error) {
		if err := now.isCallee(userID); err != nil {
			return nil, err
		}
		if !now.rings() {
			now.refusal = now.errOver()
			return nil, nil
		}
		var done tell
		var err error
		if now.session, done, err = s.config.Sessions.Answer(ctx, tx, now.session, now.call); err != nil {
			return nil, err
		}
		if now.session, way, err = s.config.Sessions.Seat(ctx, tx, now.session, userID); err != nil {
			return nil, err
		}
		view, err = s.config.Sessions.ViewOf(ctx, db.New(tx), now.session)
		return done, err
	})
	if err != nil {
		return Admission{}, err
	}
	v.View = view
	return s.admission(ctx, v, way)
}

// DeclineCall cancels a ringing call, for the callee. It has no effect on a call
// that was declined or missed already.
func (s *Service) DeclineCall(ctx context.Context, c account.Caller, sessionID, userID string) (View, error) {
	return s.decide(ctx, c.TenantID, sessionID, func(tx pgx.Tx, now *state) (tell, error) {
		if err := now.isCallee(userID); err != nil {
			return nil, err
		}
		switch {
		case now.cancelledAs(session.Declined), now.cancelledAs(session.Missed):
			return nil, nil
		case !now.rings():
			now.refusal = now.errOver()
			return nil, nil
		}
		return s.end(ctx, tx, now, session.Ending{By: &userID, CancelledAs: session.Declined})
	})
}

// tell publishes a change in the room after the commit; nil for nothing.
type tell = func(context.Context)

// decide runs fn with a locked call. If the call rang for too long, decide first
// marks it as missed, because its job may be late; this commits whatever fn does.
// If fn sets now.refusal, decide returns it after the commit.
func (s *Service) decide(ctx context.Context, tenantID, sessionID string, fn func(tx pgx.Tx, now *state) (tell, error)) (View, error) {
	defer s.config.Sessions.Hold(sessionID)()
	var now state
	var tells []tell
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		tells = nil
		if now, err = lock(ctx, tx, tenantID, sessionID); err != nil {
			return err
		}
		if now.rangOut() {
			missed, err := s.end(ctx, tx, &now, session.Ending{CancelledAs: session.Missed})
			if err != nil {
				return err
			}
			tells = append(tells, missed)
		}
		done, err := fn(tx, &now)
		tells = append(tells, done)
		return err
	})
	if err != nil {
		return View{}, err
	}
	for _, t := range tells {
		if t != nil {
			t(ctx)
		}
	}
	return View{View: session.View{Session: now.session}, Call: now.call}, now.refusal
}

// end ends a call; e says how a ringing call is cancelled.
func (s *Service) end(ctx context.Context, tx pgx.Tx, now *state, e session.Ending) (done tell, err error) {
	if now.session, done, err = s.config.Sessions.End(ctx, tx, now.session, e); err != nil {
		return nil, err
	}
	found, err := db.New(tx).GetCall(ctx, db.GetCallParams{TenantID: now.call.TenantID, SessionID: now.call.SessionID})
	now.call = found.Call
	return done, err
}
