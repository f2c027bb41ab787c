package call

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/queue"
	"showfloor/internal/outflow/event"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

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
func (s *Service) InviteCall(ctx context.Context, c tenancy.Caller, in Input) (Admission, error) {
	if in.ToUserID == in.FromUserID {
		return Admission{}, problem.BadField("toUserId", "must be another than fromUserId")
	}
	var v View
	var way session.SeatReservation
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		q := db.New(tx)
		if v.Session, err = s.openRoom(ctx, tx, c, in); err != nil {
			return err
		}
		if v.Session, way, err = s.config.Sessions.ReserveSeatTx(ctx, tx, v.Session, in.FromUserID); err != nil {
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
		err = s.config.Events.EmitTx(ctx, tx, event.Event{
			TenantID: v.TenantID, Name: event.CallInvited, Subject: v.ID, Data: session.CallInvited(v.Session, v.Call),
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
func (s *Service) openRoom(ctx context.Context, tx pgx.Tx, c tenancy.Caller, in Input) (db.Session, error) {
	kept, err := metadata.Merge(nil, in.Metadata)
	if err != nil {
		return db.Session{}, err
	}
	now, name := s.config.Now(), in.FromUserID
	if in.FromDisplayName != nil {
		name = *in.FromDisplayName
	}
	return s.config.Sessions.InsertTx(ctx, tx, db.CreateSessionParams{
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
	if s.config.RingTimeout > queue.SchedulerInterval {
		miss.InsertOpts = &river.InsertOpts{ScheduledAt: v.Call.RingExpiresAt}
	}
	if _, err := s.config.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{miss, {Args: ringPush(v.Session, v.Call)}}); err != nil {
		return fmt.Errorf("insert jobs of a call: %w", err)
	}
	return nil
}

// admission adds the token for one of the two parties, whose seat is reserved.
func (s *Service) admission(ctx context.Context, v View, way session.SeatReservation) (Admission, error) {
	token, err := s.config.Sessions.IssueToken(ctx, way)
	return Admission{View: v, Token: token}, err
}

// lock locks a call of the tenant, and then reads the database's clock.
func lock(ctx context.Context, tx pgx.Tx, tenantID, sessionID string) (state, error) {
	row, err := session.LockTx(ctx, tx, tenantID, sessionID)
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
