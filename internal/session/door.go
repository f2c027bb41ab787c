package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
)

// mostAsks is the maximum number of asks that one transaction decides.
const mostAsks = 200

// door is the entry to one session. Asks that arrive while others are being
// decided are decided together afterwards (batch.Lanes). So a room that fills up
// takes a few transactions, and a full room none.
type door struct{ tenantID, sessionID string }

// ask is a user's request for a token of a session, or to enter with one.
type ask struct {
	userID string
	// displayName and role are the values from the tenant's server; nil if it sent
	// none.
	displayName, role *string
	// connID is the connection that enters; empty for a token request.
	connID string
	// tokenOf is the room that the token names: the session or its parent.
	tokenOf string
	// hook belongs to the request that made the ask; nil for none.
	hook postgres.Hook
}

func (a *ask) enters() bool { return a.connID != "" }

// admission is the result of an ask: the user's node and grant, or a problem.
type admission struct {
	grant   Grant
	sfuURL  string
	problem error
}

// errNobody rolls back a transaction that admitted no one.
var errNobody = errors.New("nobody was let in")

// decide admits users in the order of their asks. It refuses an ask without a lock
// if a plain read shows that it must fail. An error applies to all asks.
func (s *Service) decide(ctx context.Context, at door, asks []*ask) ([]admission, error) {
	out := make([]admission, len(asks))
	hopeful, err := s.peek(ctx, at, asks, out)
	if err != nil || len(hopeful) == 0 {
		return out, err
	}
	where, err := s.place(ctx, at.tenantID, at.sessionID, asks[hopeful[0]].enters())
	if err != nil {
		return nil, err
	}
	here := hopeful[:0]
	for _, i := range hopeful {
		out[i].sfuURL = where.sfuURL
		if asks[i].enters() && where.node != s.config.Node {
			out[i].problem = &Moved{SFUURL: where.sfuURL}
			continue
		}
		here = append(here, i)
	}
	hooks := &postgres.Hooks{}
	err = postgres.InTx(postgres.WithHook(ctx, hooks), s.config.Pool, func(tx pgx.Tx) error {
		hooks.Reset()
		return s.open(ctx, tx, at, asks, here, out, hooks)
	})
	if errors.Is(err, errNobody) {
		err = nil
	}
	return out, err
}

// peek refuses the asks that must fail, without a lock, and returns the indexes of
// the others.
func (s *Service) peek(ctx context.Context, at door, asks []*ask, out []admission) (hopeful []int, err error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	row, err := q.GetDoor(ctx, db.GetDoorParams{TenantID: at.tenantID, ID: at.sessionID, Now: now})
	if errors.Is(err, pgx.ErrNoRows) {
		refuseAll(out, problem.Missing("session"))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get door: %w", err)
	}
	if refusal := account.CheckTenant(row.TenantStatus); refusal != nil {
		refuseAll(out, refusal)
		return nil, nil
	}
	f := foyer{session: row.Session, now: now}
	users := usersOf(asks)
	list, err := q.ListParticipantsByUser(ctx, db.ListParticipantsByUserParams{TenantID: at.tenantID, RoomID: at.sessionID, UserIds: users})
	if err != nil {
		return nil, fmt.Errorf("list participants: %w", err)
	}
	if err := f.fill(ctx, q, users, list); err != nil {
		return nil, err
	}
	for i, a := range asks {
		p, refusal := f.find(a)
		if refusal == nil {
			refusal = mayCome(f.session, p, now)
		}
		if refusal == nil && !waits(f.session, p) && p.Seat == seatNone && f.session.Seats >= f.session.Capacity && !row.SeatsExpired {
			refusal = errFull()
		}
		if out[i].problem = refusal; refusal == nil {
			hopeful = append(hopeful, i)
		}
	}
	return hopeful, nil
}

// open decides the remaining asks under the session's lock.
func (s *Service) open(ctx context.Context, tx pgx.Tx, at door, asks []*ask, these []int, out []admission, hooks *postgres.Hooks) error {
	q, now := db.New(tx), s.config.Now()
	row, err := Lock(ctx, tx, at.tenantID, at.sessionID)
	if err != nil {
		return err
	}
	chosen := make([]*ask, len(these))
	for n, i := range these {
		chosen[n] = asks[i]
	}
	users := usersOf(chosen)
	if err := sweepSeats(ctx, tx, &row, now, users...); err != nil {
		return err
	}
	list, err := q.LockParticipantsByUser(ctx, db.LockParticipantsByUserParams{TenantID: at.tenantID, RoomID: at.sessionID, UserIds: users})
	if err != nil {
		return fmt.Errorf("lock participants: %w", err)
	}
	f := foyer{session: row, now: now, node: s.config.Node}
	if err := f.fill(ctx, q, users, list); err != nil {
		return err
	}
	anybody := false
	for n, i := range these {
		p, refusal := f.admit(chosen[n])
		if out[i].problem = refusal; refusal != nil {
			continue
		}
		out[i].grant = grantOf(p, &f.session.State, "")
		anybody = true
		hooks.Add(chosen[n].hook)
	}
	if !anybody {
		return errNobody
	}
	return f.save(ctx, tx)
}

func refuseAll(out []admission, refusal error) {
	for i := range out {
		out[i].problem = refusal
	}
}

func usersOf(asks []*ask) []string {
	seen, list := map[string]bool{}, []string{}
	for _, a := range asks {
		if !seen[a.userID] {
			seen[a.userID] = true
			list = append(list, a.userID)
		}
	}
	return list
}
