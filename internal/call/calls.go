package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/event"
	"showfloor/internal/id"
	"showfloor/internal/metadata"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
	"showfloor/internal/push"
	"showfloor/internal/session"
	"showfloor/internal/timestamp"
)

// soon is the lead time, and the interval, of the queue's scheduler. The scheduler
// may see a job that is due sooner too late. So such a job starts at once and
// reschedules itself; the queue keeps to such times within its polling interval.
const soon = 5 * time.Second

// View is a call as the API shows it to the tenant.
type View struct {
	session.View

	Call db.Call
}

// Admission is a call with a token for its room, for one of the two parties.
type Admission struct {
	View

	Token session.Token
}

// Input describes a new call; the handler has checked its limits.
type Input struct {
	FromUserID      string
	FromDisplayName *string
	ToUserID        string
	Kind            string
	ProjectID       *string
	// Metadata is stored with the call's session.
	Metadata map[string]string
}

// InviteCall creates a call and rings the callee, if the caller can enter. The
// caller and the callee may be in any number of calls; their apps decide whether a
// user is busy.
func (s *Service) InviteCall(ctx context.Context, c account.Caller, in Input) (Admission, error) {
	if in.ToUserID == in.FromUserID {
		return Admission{}, problem.BadField("toUserId", "must be another than fromUserId")
	}
	var v View
	var way session.Way
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		q := db.New(tx)
		if v.Session, err = s.openRoom(ctx, tx, c, in); err != nil {
			return err
		}
		if v.Session, way, err = s.config.Sessions.Seat(ctx, tx, v.Session, in.FromUserID); err != nil {
			return err
		}
		if v.View, err = s.config.Sessions.ViewOf(ctx, q, v.Session); err != nil {
			return err
		}
		v.Call, err = q.CreateCall(ctx, db.CreateCallParams{
			SessionID: v.ID, TenantID: c.TenantID, Kind: in.Kind, FromUserID: in.FromUserID, FromDisplayName: in.FromDisplayName,
			ToUserID: in.ToUserID, RingSec: s.config.RingTimeout.Seconds(),
		})
		if err != nil {
			return fmt.Errorf("create call: %w", err)
		}
		err = s.config.Events.Emit(ctx, tx, event.Event{
			TenantID: v.TenantID, Name: event.CallInvited, Subject: v.ID, Data: session.CallDataOf(v.Session, v.Call),
		})
		if err != nil {
			return err
		}
		return s.enqueue(ctx, tx, v)
	})
	if err != nil {
		return Admission{}, err
	}
	return s.admission(ctx, v, way)
}

// openRoom creates the call's session, in which the caller waits for the callee.
func (s *Service) openRoom(ctx context.Context, tx pgx.Tx, c account.Caller, in Input) (db.Session, error) {
	kept, err := metadata.Merge(nil, in.Metadata)
	if err != nil {
		return db.Session{}, err
	}
	now, name := s.config.Now(), in.FromUserID
	if in.FromDisplayName != nil {
		name = *in.FromDisplayName
	}
	return s.config.Sessions.Insert(ctx, tx, db.CreateSessionParams{
		ID: id.New(id.Session), TenantID: c.TenantID, Type: session.Call, Name: "Call from " + name, ProjectID: in.ProjectID,
		HostID: in.FromUserID, Capacity: session.DefaultCapacity(session.Call), Layout: session.DefaultLayout(session.Call),
		WaitingRoom: true, InviteUserIds: []string{in.ToUserID}, State: session.Ringing, Metadata: kept, Now: now,
	}, []session.Invitee{
		{UserID: in.FromUserID, DisplayName: in.FromDisplayName, Role: session.Host},
		{UserID: in.ToUserID, Role: session.Guest},
	})
}

// enqueue adds the job that ends the ringing and the push that makes the callee's
// devices ring.
func (s *Service) enqueue(ctx context.Context, tx pgx.Tx, v View) error {
	miss := river.InsertManyParams{Args: MissArgs{TenantID: v.TenantID, SessionID: v.ID}}
	if s.config.RingTimeout > soon {
		miss.InsertOpts = &river.InsertOpts{ScheduledAt: v.Call.RingExpiresAt}
	}
	title := v.Call.FromUserID
	if v.Call.FromDisplayName != nil {
		title = *v.Call.FromDisplayName
	}
	ring := river.InsertManyParams{Args: push.Args{
		TenantID: v.TenantID, ProjectID: v.ProjectID, UserID: v.Call.ToUserID, Reason: push.Ringing, Title: title, Priority: push.High,
		Data: map[string]string{
			"service": "1", "type": "call.invite", "sessionId": v.ID, "kind": v.Call.Kind, "from": v.Call.FromUserID,
		},
		ExpiresAt: timestamp.From(v.Call.RingExpiresAt),
	}}
	if _, err := s.config.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{miss, ring}); err != nil {
		return fmt.Errorf("insert jobs of a call: %w", err)
	}
	return nil
}

// admission adds the token for one of the two parties, whose seat is held.
func (s *Service) admission(ctx context.Context, v View, way session.Way) (Admission, error) {
	token, err := s.config.Sessions.IssueToken(ctx, way)
	return Admission{View: v, Token: token}, err
}

// lock locks a call of the tenant, and then reads the database's clock.
func lock(ctx context.Context, tx pgx.Tx, tenantID, sessionID string) (state, error) {
	row, err := session.Lock(ctx, tx, tenantID, sessionID)
	if problem.Is(err, "not_found") {
		return state{}, problem.Missing("call")
	}
	if err != nil {
		return state{}, err
	}
	found, err := db.New(tx).GetCall(ctx, db.GetCallParams{TenantID: tenantID, SessionID: sessionID})
	if errors.Is(err, pgx.ErrNoRows) { // a session of another type
		return state{}, problem.Missing("call")
	}
	if err != nil {
		return state{}, fmt.Errorf("get call: %w", err)
	}
	return state{session: row, call: found.Call, now: found.Now}, nil
}
