package session

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/stored"
	"showfloor/internal/tenancy"
)

// TokenInput describes a user who gets a token. The handler has checked its
// limits.
type TokenInput struct {
	UserID string
	// DisplayName is nil to keep the current name. Role is nil for the role of the
	// invitation, or else the default role of the session's type.
	DisplayName, Role *string
}

// CreateSessionToken issues a token for a session. It reserves a seat for one minute,
// unless the user has to wait for admission. The token is valid for longer than
// that, but entering later requires a free seat. Problems: not_found,
// session_full, conflict when the session is over, forbidden when it is locked or
// the user was kicked.
func (s *Service) CreateSessionToken(ctx context.Context, c tenancy.Caller, sessionID string, in TokenInput) (Token, error) {
	// Without cancellation: if the caller disconnects, the seat is reserved all the same,
	// and the Idempotency-Key must not be released meanwhile.
	result, err := s.entries.Do(context.WithoutCancel(ctx), sessionKey{c.TenantID, sessionID}, &entryRequest{
		userID: in.UserID, displayName: in.DisplayName, role: in.Role, tokenOf: sessionID, hook: postgres.HookFrom(ctx),
	})
	if err != nil {
		return Token{}, err
	}
	if result.problem != nil {
		return Token{}, result.problem
	}
	stored.Add(ctx, participantBytes)
	return s.issueToken(ctx, result.sfuURL, result.grant)
}

// participantBytes is the size of a participant's row. The row has no event.
const participantBytes = 512

// EnterInput is a connection that enters a room.
type EnterInput struct {
	// Token is valid for the room that it names and for the breakout rooms of it to
	// which the user is invited. A moderator's token is valid for all its breakout
	// rooms.
	Token  string
	RoomID string
	// ConnID is a new id for each connection. A new connection replaces the user's
	// previous one.
	ConnID string
}

// Enter puts a connection into a room or into its waiting room; the grant's State
// says which. A waiting participant is in the room once it is admitted, and does
// not enter again. Entering again with the same connection has no effect.
// Problems: unauthenticated, token_expired, tenant_suspended, forbidden when the
// user was kicked or the session is locked, session_full, conflict when it is
// over. If another node has the room, the error is a *Moved.
func (s *Service) Enter(ctx context.Context, in EnterInput) (Grant, error) {
	t, err := s.AuthenticateParticipant(ctx, in.Token)
	if err != nil {
		return Grant{}, err
	}
	if !isSession(in.RoomID) {
		return s.enterStream(ctx, t, in)
	}
	// Without cancellation: if the connection is lost meanwhile, the caller must know
	// whether it entered, and so has to leave.
	result, err := s.entries.Do(context.WithoutCancel(ctx), sessionKey{t.TenantID, in.RoomID}, &entryRequest{
		userID: t.UserID, connID: in.ConnID, tokenOf: t.RoomID,
	})
	if err == nil {
		err = result.problem
	}
	if problem.Is(err, "not_found") {
		err = errOtherRoom() // also for a session of another tenant, so as not to reveal that it exists
	}
	return result.grant, err
}

// errOtherRoom refuses a token for a room that it isn't valid for.
func errOtherRoom() error {
	return problem.New(problem.Unauthenticated, "unauthenticated", "this participant token is for another room")
}

// enterTime bounds an entry that continues after its connection is lost.
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
		return g, tenancy.CheckTenant(tenancy.Suspended)
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
		p, err := LockParticipantTx(ctx, tx, room, t.UserID)
		if err != nil {
			return err
		}
		if p.State == Kicked {
			return errRevoked()
		}
		replaced := p.ConnID != nil && *p.ConnID != in.ConnID
		enterRoom(&room, &p, s.config.Now())
		p.ConnID, p.Node = &in.ConnID, &s.config.Node
		if replaced {
			if err := ChangedTx(ctx, tx, p.RoomID, p.UserID); err != nil {
				return err
			}
		}
		g = grantOf(p, nil, "")
		return saveParticipants(ctx, tx, s.config.Now(), p)
	})
	return g, err
}
