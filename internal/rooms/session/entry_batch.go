package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// entryBatch holds a session and the users who request to enter it. It starts with
// what one read found; each admission then updates it.
type entryBatch struct {
	session db.Session
	now     time.Time
	// node is the process that holds the entering connections.
	node       string
	candidates map[string]*candidate
	// parents are the users' participants in the parent session, if this session is a
	// breakout room.
	parents map[string]db.Participant
}

// candidate is a participant that is being admitted.
type candidate struct {
	db.Participant

	// fresh: the participant has no row yet. changed: the row must be saved. notify:
	// other nodes must be notified, because they may hold the user's connection.
	fresh, changed, notify bool
}

// fill loads the users' participants, in the session and in its parent.
func (b *entryBatch) fill(ctx context.Context, q *db.Queries, users []string, list []db.Participant) error {
	b.candidates, b.parents = make(map[string]*candidate, len(users)), map[string]db.Participant{}
	for _, p := range list {
		b.candidates[p.UserID] = &candidate{Participant: p}
	}
	if b.session.ParentSessionID == nil {
		return nil
	}
	parents, err := q.ListParticipantsByUser(ctx, db.ListParticipantsByUserParams{
		TenantID: b.session.TenantID, RoomID: *b.session.ParentSessionID, UserIds: users,
	})
	if err != nil {
		return fmt.Errorf("list the parent's participants: %w", err)
	}
	for _, p := range parents {
		b.parents[p.UserID] = p
	}
	return nil
}

// find returns the participant of a request, or a new one if the user has none.
func (b *entryBatch) find(r *entryRequest) (db.Participant, error) {
	parent, inParent := b.parents[r.userID]
	if r.enters() && r.tokenOf != b.session.ID {
		// A token of the parent is valid in a breakout room for invited users and for
		// moderators.
		switch {
		case b.session.ParentSessionID == nil || r.tokenOf != *b.session.ParentSessionID:
			return db.Participant{}, errOtherRoom()
		case !inParent || parent.State == Kicked:
			return db.Participant{}, errRevoked()
		case b.candidates[r.userID] == nil && !Moderates(parent.Role):
			return db.Participant{}, problem.New(problem.Forbidden, "forbidden", "this user isn't invited to the breakout room")
		}
	}
	if c := b.candidates[r.userID]; c != nil {
		return c.Participant, checkHost(b.session, r.userID, r.role)
	}
	if r.enters() && r.tokenOf == b.session.ID {
		return db.Participant{}, errRevoked()
	}
	p, err := newcomer(b.session, r.userID, r.role, &parent)
	if inParent {
		p.DisplayName = parent.DisplayName
	}
	return p, err
}

// admit admits one user, or returns why it is refused.
func (b *entryBatch) admit(r *entryRequest) (db.Participant, error) {
	p, err := b.find(r)
	if err != nil {
		return p, err
	}
	if err := checkEntry(b.session, p, b.now); err != nil {
		return p, err
	}
	c := &candidate{Participant: p, fresh: true, changed: true}
	if known := b.candidates[r.userID]; known != nil {
		c.fresh, c.changed, c.notify = known.fresh, known.changed, known.notify
	}
	if r.displayName != nil && (p.DisplayName == nil || *p.DisplayName != *r.displayName) {
		c.DisplayName, c.changed, c.notify = r.displayName, true, c.notify || c.ConnID != nil
	}
	if r.enters() {
		err = b.enter(c, r.connID)
	} else {
		err = b.invite(c)
	}
	if err != nil {
		return p, err
	}
	b.candidates[r.userID] = c
	return c.Participant, nil
}

// enter replaces the participant's previous connection with connID.
func (b *entryBatch) enter(c *candidate, connID string) error {
	if waits(b.session, c.Participant) {
		freeSeat(&b.session, &c.Participant)
		c.State = Waiting
	} else {
		if err := takeSeat(&b.session, &c.Participant, nil); err != nil {
			return err
		}
		enterRoom(&b.session, &c.Participant, b.now)
	}
	c.notify = c.notify || c.ConnID != nil && *c.ConnID != connID
	c.ConnID, c.Node, c.changed = &connID, &b.node, true
	return nil
}

// invite prepares a participant for its token: it reserves a seat, or puts
// the participant into the waiting room.
func (b *entryBatch) invite(c *candidate) error {
	switch {
	case c.State == Joined:
		return nil
	case waits(b.session, c.Participant):
		freeSeat(&b.session, &c.Participant)
		c.State, c.changed = Waiting, true
		return nil
	case c.State == Waiting && c.ConnID != nil: // it waits and is connected, but no longer needs an admission
		if err := takeSeat(&b.session, &c.Participant, nil); err != nil {
			return err
		}
		enterRoom(&b.session, &c.Participant, b.now)
		c.changed, c.notify = true, true
		return nil
	}
	if err := takeSeat(&b.session, &c.Participant, new(b.now.Add(reserveFor))); err != nil {
		return err
	}
	if c.State == Waiting {
		c.State = Invited
	}
	c.changed = true
	return nil
}

// save writes the changes, in the transaction that holds the locks.
func (b *entryBatch) save(ctx context.Context, tx pgx.Tx) error {
	var fresh []Invitee
	var changed []db.Participant
	var notified []string
	for userID, c := range b.candidates {
		if c.fresh {
			fresh = append(fresh, Invitee{UserID: userID, DisplayName: c.DisplayName, Role: c.Role})
		}
		if c.changed {
			changed = append(changed, c.Participant)
		}
		if c.notify {
			notified = append(notified, userID)
		}
	}
	if err := InviteTx(ctx, tx, b.session, b.now, fresh); err != nil {
		return err
	}
	if err := saveParticipants(ctx, tx, b.now, changed...); err != nil {
		return err
	}
	slices.Sort(notified)
	for _, userID := range notified {
		if err := ChangedTx(ctx, tx, b.session.ID, userID); err != nil {
			return err
		}
	}
	return saveSession(ctx, tx, b.session)
}
