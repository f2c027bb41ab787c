package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/problem"
)

// foyer holds a session and the users who ask to enter it. It starts with what one
// read found; each admission then updates it.
type foyer struct {
	session db.Session
	now     time.Time
	// node is the process that holds the entering connections.
	node   string
	people map[string]*guest
	// parents are the users' participants in the parent session, if this session is a
	// breakout room.
	parents map[string]db.Participant
}

// guest is a participant that is being admitted.
type guest struct {
	db.Participant

	// fresh: the participant has no row yet. changed: the row must be saved. told:
	// other nodes must be notified, because they may hold the user's connection.
	fresh, changed, told bool
}

// fill loads the users' participants, in the session and in its parent.
func (f *foyer) fill(ctx context.Context, q *db.Queries, users []string, list []db.Participant) error {
	f.people, f.parents = make(map[string]*guest, len(users)), map[string]db.Participant{}
	for _, p := range list {
		f.people[p.UserID] = &guest{Participant: p}
	}
	if f.session.ParentSessionID == nil {
		return nil
	}
	parents, err := q.ListParticipantsByUser(ctx, db.ListParticipantsByUserParams{
		TenantID: f.session.TenantID, RoomID: *f.session.ParentSessionID, UserIds: users,
	})
	if err != nil {
		return fmt.Errorf("list the parent's participants: %w", err)
	}
	for _, p := range parents {
		f.parents[p.UserID] = p
	}
	return nil
}

// find returns the participant of an ask, or a new one if the user has none.
func (f *foyer) find(a *ask) (db.Participant, error) {
	parent, inParent := f.parents[a.userID]
	if a.enters() && a.tokenOf != f.session.ID {
		// A token of the parent is valid in a breakout room for invited users and for
		// moderators.
		switch {
		case f.session.ParentSessionID == nil || a.tokenOf != *f.session.ParentSessionID:
			return db.Participant{}, errOtherRoom()
		case !inParent || parent.State == Kicked:
			return db.Participant{}, errRevoked()
		case f.people[a.userID] == nil && !Moderates(parent.Role):
			return db.Participant{}, problem.New(problem.Forbidden, "forbidden", "this user isn't invited to the breakout room")
		}
	}
	if g := f.people[a.userID]; g != nil {
		return g.Participant, checkHost(f.session, a.userID, a.role)
	}
	if a.enters() && a.tokenOf == f.session.ID {
		return db.Participant{}, errRevoked()
	}
	p, err := newcomer(f.session, a.userID, a.role, &parent)
	if inParent {
		p.DisplayName = parent.DisplayName
	}
	return p, err
}

// admit admits one ask, or returns why it is refused.
func (f *foyer) admit(a *ask) (db.Participant, error) {
	p, err := f.find(a)
	if err != nil {
		return p, err
	}
	if err := mayCome(f.session, p, f.now); err != nil {
		return p, err
	}
	g := &guest{Participant: p, fresh: true, changed: true}
	if known := f.people[a.userID]; known != nil {
		g.fresh, g.changed, g.told = known.fresh, known.changed, known.told
	}
	if a.displayName != nil && (p.DisplayName == nil || *p.DisplayName != *a.displayName) {
		g.DisplayName, g.changed, g.told = a.displayName, true, g.told || g.ConnID != nil
	}
	if a.enters() {
		err = f.enter(g, a.connID)
	} else {
		err = f.invite(g)
	}
	if err != nil {
		return p, err
	}
	f.people[a.userID] = g
	return g.Participant, nil
}

// enter replaces the participant's previous connection with connID.
func (f *foyer) enter(g *guest, connID string) error {
	if waits(f.session, g.Participant) {
		freeSeat(&f.session, &g.Participant)
		g.State = Waiting
	} else {
		if err := takeSeat(&f.session, &g.Participant, nil); err != nil {
			return err
		}
		come(&f.session, &g.Participant, f.now)
	}
	g.told = g.told || g.ConnID != nil && *g.ConnID != connID
	g.ConnID, g.Node, g.changed = &connID, &f.node, true
	return nil
}

// invite prepares a participant for its token: it holds a seat, or puts the
// participant into the waiting room.
func (f *foyer) invite(g *guest) error {
	switch {
	case g.State == Joined:
		return nil
	case waits(f.session, g.Participant):
		freeSeat(&f.session, &g.Participant)
		g.State, g.changed = Waiting, true
		return nil
	case g.State == Waiting && g.ConnID != nil: // it waits and is connected, but no longer needs an admission
		if err := takeSeat(&f.session, &g.Participant, nil); err != nil {
			return err
		}
		come(&f.session, &g.Participant, f.now)
		g.changed, g.told = true, true
		return nil
	}
	if err := takeSeat(&f.session, &g.Participant, new(f.now.Add(heldFor))); err != nil {
		return err
	}
	if g.State == Waiting {
		g.State = Invited
	}
	g.changed = true
	return nil
}

// save writes the changes, in the transaction that holds the locks.
func (f *foyer) save(ctx context.Context, tx pgx.Tx) error {
	var fresh []Invitee
	var changed []db.Participant
	var told []string
	for userID, g := range f.people {
		if g.fresh {
			fresh = append(fresh, Invitee{UserID: userID, DisplayName: g.DisplayName, Role: g.Role})
		}
		if g.changed {
			changed = append(changed, g.Participant)
		}
		if g.told {
			told = append(told, userID)
		}
	}
	if err := Invite(ctx, tx, f.session, f.now, fresh); err != nil {
		return err
	}
	if err := saveParticipants(ctx, tx, f.now, changed...); err != nil {
		return err
	}
	slices.Sort(told)
	for _, userID := range told {
		if err := Changed(ctx, tx, f.session.ID, userID); err != nil {
			return err
		}
	}
	return saveSession(ctx, tx, f.session)
}
