package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
)

// maxEntryRequests is the maximum number of requests that one transaction decides.
const maxEntryRequests = 200

// sessionKey identifies a session. Entry requests that arrive while others are being
// decided are decided together afterwards (batch.Keyed). So a room that fills up
// takes a few transactions, and a full room none.
type sessionKey struct{ tenantID, sessionID string }

// entryRequest is a user's request for a token of a session, or to enter with one.
type entryRequest struct {
	userID string
	// displayName and role are the values from the tenant's server; nil if it sent
	// none.
	displayName, role *string
	// connID is the connection that enters; empty for a token request.
	connID string
	// tokenOf is the room that the token names: the session or its parent.
	tokenOf string
	// hook belongs to the request that made it; nil for none.
	hook postgres.Hook
}

func (r *entryRequest) enters() bool { return r.connID != "" }

// entryResult is the result of an entry request: the user's node and grant, or a
// problem.
type entryResult struct {
	grant   Grant
	sfuURL  string
	problem error
}

// errNoneAdmitted rolls back a transaction that admitted no one.
var errNoneAdmitted = errors.New("no participant was admitted")

// decideEntries admits users in the order of their requests. It refuses a request
// without a lock if a plain read shows that it must fail. An error applies to all.
func (s *Service) decideEntries(ctx context.Context, at sessionKey, requests []*entryRequest) ([]entryResult, error) {
	out := make([]entryResult, len(requests))
	candidates, err := s.precheckEntries(ctx, at, requests, out)
	if err != nil || len(candidates) == 0 {
		return out, err
	}
	where, err := s.place(ctx, at.tenantID, at.sessionID, requests[candidates[0]].enters())
	if err != nil {
		return nil, err
	}
	local := candidates[:0]
	for _, i := range candidates {
		out[i].sfuURL = where.sfuURL
		if requests[i].enters() && where.node != s.config.Node {
			out[i].problem = &Moved{SFUURL: where.sfuURL}
			continue
		}
		local = append(local, i)
	}
	hooks := &postgres.Hooks{}
	err = postgres.InTx(postgres.WithHook(ctx, hooks), s.config.Pool, func(tx pgx.Tx) error {
		hooks.Reset()
		return s.decideLocked(ctx, tx, at, requests, local, out, hooks)
	})
	if errors.Is(err, errNoneAdmitted) {
		err = nil
	}
	return out, err
}

// precheckEntries refuses the requests that must fail, without a lock, and returns
// the indexes of the others.
func (s *Service) precheckEntries(
	ctx context.Context, at sessionKey, requests []*entryRequest, out []entryResult,
) (candidates []int, err error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	row, err := q.GetSessionForEntry(ctx, db.GetSessionForEntryParams{TenantID: at.tenantID, ID: at.sessionID, Now: now})
	if errors.Is(err, pgx.ErrNoRows) {
		refuseAll(out, problem.Missing("session"))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get session for entry: %w", err)
	}
	if refusal := tenancy.CheckTenant(row.TenantStatus); refusal != nil {
		refuseAll(out, refusal)
		return nil, nil
	}
	b := entryBatch{session: row.Session, now: now}
	users := usersOf(requests)
	list, err := q.ListParticipantsByUser(ctx, db.ListParticipantsByUserParams{TenantID: at.tenantID, RoomID: at.sessionID, UserIds: users})
	if err != nil {
		return nil, fmt.Errorf("list participants: %w", err)
	}
	if err := b.fill(ctx, q, users, list); err != nil {
		return nil, err
	}
	blocked := s.config.Usage.CheckAllowance(ctx, at.tenantID, usage.ParticipantMinutes)
	if _, refused := problem.As(blocked); blocked != nil && !refused {
		return nil, blocked
	}
	for i, r := range requests {
		p, refusal := b.find(r)
		if refusal == nil {
			refusal = checkEntry(b.session, p, now)
		}
		if refusal == nil && p.State != Joined && p.Seat == seatNone && !mayResume(p, now) {
			refusal = blocked
		}
		if refusal == nil && !waits(b.session, p) && p.Seat == seatNone && b.session.Seats >= b.session.Capacity && !row.SeatsExpired {
			refusal = errFull()
		}
		if out[i].problem = refusal; refusal == nil {
			candidates = append(candidates, i)
		}
	}
	return candidates, nil
}

// decideLocked decides the requests with the indexes in candidates, under the
// session's lock.
func (s *Service) decideLocked(
	ctx context.Context, tx pgx.Tx, at sessionKey, requests []*entryRequest, candidates []int, out []entryResult, hooks *postgres.Hooks,
) error {
	q, now := db.New(tx), s.config.Now()
	row, err := LockTx(ctx, tx, at.tenantID, at.sessionID)
	if err != nil {
		return err
	}
	chosen := make([]*entryRequest, len(candidates))
	for n, i := range candidates {
		chosen[n] = requests[i]
	}
	users := usersOf(chosen)
	if err := sweepSeats(ctx, tx, &row, now, users...); err != nil {
		return err
	}
	list, err := q.LockParticipantsByUser(ctx, db.LockParticipantsByUserParams{TenantID: at.tenantID, RoomID: at.sessionID, UserIds: users})
	if err != nil {
		return fmt.Errorf("lock participants: %w", err)
	}
	b := entryBatch{session: row, now: now, node: s.config.Node}
	if err := b.fill(ctx, q, users, list); err != nil {
		return err
	}
	admitted := 0
	for n, i := range candidates {
		p, refusal := b.admit(chosen[n])
		if out[i].problem = refusal; refusal != nil {
			continue
		}
		out[i].grant = grantOf(p, &b.session.State, "")
		admitted++
		hooks.Add(chosen[n].hook)
	}
	if admitted == 0 {
		return errNoneAdmitted
	}
	return b.save(ctx, tx)
}

func refuseAll(out []entryResult, refusal error) {
	for i := range out {
		out[i].problem = refusal
	}
}

func usersOf(requests []*entryRequest) []string {
	seen, list := map[string]bool{}, []string{}
	for _, r := range requests {
		if !seen[r.userID] {
			seen[r.userID] = true
			list = append(list, r.userID)
		}
	}
	return list
}
