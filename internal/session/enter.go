package session

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
	"showfloor/internal/stored"
)

// TokenInput is whom to let in; the door has checked its limits.
type TokenInput struct {
	UserID string
	// DisplayName is nil for what it was, Role for that of an invitation or of the
	// session's type.
	DisplayName, Role *string
}

// CreateSessionToken lets a user into a session: a seat is held for the next
// minute unless the user has to wait to be admitted, and the token is good for
// longer, as far as there is a seat then. Problems: not_found, session_full,
// conflict when the session is over, forbidden when it is locked or the user was
// thrown out.
func (s *Service) CreateSessionToken(ctx context.Context, c account.Caller, sessionID string, in TokenInput) (Token, error) {
	// To the end, even if the caller hangs up: the seat is held all the same, and
	// an Idempotency-Key must not be given back meanwhile.
	a, err := s.doors.Do(context.WithoutCancel(ctx), door{c.TenantID, sessionID}, &ask{
		userID: in.UserID, displayName: in.DisplayName, role: in.Role, tokenOf: sessionID, hook: postgres.HookFrom(ctx),
	})
	if err != nil {
		return Token{}, err
	}
	if a.problem != nil {
		return Token{}, a.problem
	}
	stored.Add(ctx, participantBytes)
	return s.issueToken(ctx, a.sfuURL, a.grant)
}

// participantBytes is what a participant's row takes up. It has no event.
const participantBytes = 512

// EnterInput is a connection that wants into a room.
type EnterInput struct {
	// Token is good for the room that it names, and for breakout rooms of it to
	// which the user is invited, or all if it moderates.
	Token  string
	RoomID string
	// ConnID is made up for each connection; a new one replaces the user's one
	// before.
	ConnID string
}

// Enter puts a connection into a room, or into its waiting room, as the grant's
// State says: who waits is in the room once it is admitted, without entering
// again. Entering again with the same connection is harmless. Problems:
// unauthenticated, token_expired, tenant_suspended, forbidden when the user was
// thrown out or the session is locked, session_full, conflict when it is over; a
// *Moved when another node has the room.
func (s *Service) Enter(ctx context.Context, in EnterInput) (Grant, error) {
	t, err := s.AuthenticateParticipant(ctx, in.Token)
	if err != nil {
		return Grant{}, err
	}
	if !isSession(in.RoomID) {
		return s.enterStream(ctx, t, in)
	}
	// To the end, even if the connection is lost meanwhile: whoever asked has to
	// know that there is something to leave.
	a, err := s.doors.Do(context.WithoutCancel(ctx), door{t.TenantID, in.RoomID}, &ask{
		userID: t.UserID, connID: in.ConnID, tokenOf: t.RoomID,
	})
	if err == nil {
		err = a.problem
	}
	if problem.Is(err, "not_found") {
		err = errOtherRoom() // another tenant's is none
	}
	return a.grant, err
}

// errOtherRoom refuses a token at a room that it isn't for.
func errOtherRoom() error {
	return problem.New(problem.Unauthenticated, "unauthenticated", "this participant token is for another room")
}

// enterTime bounds an entry that goes on although its connection is lost.
const enterTime = 10 * time.Second

// enterStream is Enter for a stream's room, which has neither seats nor a lock.
func (s *Service) enterStream(ctx context.Context, t Ticket, in EnterInput) (Grant, error) {
	if t.RoomID != in.RoomID {
		return Grant{}, errOtherRoom()
	}
	g, err := s.GetGrant(ctx, t.TenantID, t.RoomID, t.UserID)
	if err != nil {
		return g, err
	}
	switch g.Gone {
	case GoneSuspended:
		return g, account.CheckTenant(account.TenantSuspended)
	case GoneKicked, GoneUnknown:
		return g, errRevoked()
	}
	where, err := s.place(ctx, t.TenantID, t.RoomID, true)
	if err != nil {
		return g, err
	}
	if where.node != s.config.Node {
		return g, &Moved{SFUURL: where.sfuURL}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), enterTime)
	defer cancel()
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		room := db.Session{TenantID: t.TenantID, ID: t.RoomID}
		p, err := LockParticipant(ctx, tx, room, t.UserID)
		if err != nil {
			return err
		}
		if p.State == Kicked {
			return errRevoked()
		}
		replaced := p.ConnID != nil && *p.ConnID != in.ConnID
		come(&room, &p, s.config.Now())
		p.ConnID, p.Node = &in.ConnID, &s.config.Node
		if replaced {
			if err := Changed(ctx, tx, p.RoomID, p.UserID); err != nil {
				return err
			}
		}
		g = grantOf(p, nil, "")
		return saveParticipants(ctx, tx, s.config.Now(), p)
	})
	return g, err
}
