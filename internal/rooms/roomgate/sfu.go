package roomgate

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"time"

	"showfloor/internal/base/problem"
	"showfloor/internal/media/sfu"
	"showfloor/internal/rooms/session"
	"showfloor/internal/streams/mediagate"
)

const (
	// askTime is the deadline of database calls for which no client waits.
	askTime = 10 * time.Second
	// beatEvery is the interval of this process's heartbeats with its number of
	// participants.
	beatEvery = 10 * time.Second
	// minPause and maxPause bound the pause after a failed query. It doubles each time.
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
	// together is the maximum number of participants per query.
	together = 1000
)

// SFU admits participants to the SFU's rooms and passes changed grants to it: it
// is an sfu.Gate and a Follower.
type SFU struct {
	sessions *session.Service
	viewers  *mediagate.Viewers
	log      *slog.Logger
	server   *sfu.Server
	// turns are locks by room. They prevent an older grant from being applied after a
	// newer one.
	turns [64]sync.Mutex
}

var (
	_ sfu.Gate = (*SFU)(nil)
	_ Follower = (*SFU)(nil)
)

// NewSFU makes the gate; Connect must be called before it is used.
// viewers admits the viewers of streams; nil admits all.
func NewSFU(sessions *session.Service, viewers *mediagate.Viewers, log *slog.Logger) *SFU {
	return &SFU{sessions: sessions, viewers: viewers, log: log}
}

// Connect sets the server whose gate this is.
func (s *SFU) Connect(server *sfu.Server) { s.server = server }

// Identify implements sfu.Gate.
func (s *SFU) Identify(ctx context.Context, token string) (tenantID, roomID string, err error) {
	t, err := s.sessions.AuthenticateParticipant(ctx, token)
	if err != nil {
		return "", "", s.clientError(ctx, sfu.Entry{Token: token}, err)
	}
	return t.TenantID, t.RoomID, nil
}

// Enter implements sfu.Gate.
func (s *SFU) Enter(ctx context.Context, e sfu.Entry) (sfu.Grant, error) {
	g, err := s.sessions.Enter(ctx, session.EnterInput{Token: e.Token, RoomID: e.RoomID, ConnID: e.ConnID})
	if err != nil {
		return s.possiblyEntered(ctx, e, err), s.clientError(ctx, e, err)
	}
	entered := sfu.Grant{TenantID: g.TenantID, RoomID: g.RoomID, UserID: g.UserID}
	// The session and the participant as the room shows them are read after the entry,
	// which is committed even if the client has disconnected.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	if g, err = s.sessions.GetGrant(ctx, g.TenantID, g.RoomID, g.UserID); err != nil {
		return entered, err
	}
	if g.Gone != "" {
		return entered, &sfu.ClientError{Code: byeOf(g.Gone)}
	}
	if g.ConnID != e.ConnID {
		return entered, &sfu.ClientError{Code: session.GoneReplaced}
	}
	grant := grantOf(g)
	if refusal := s.admitViewer(ctx, grant, e); refusal != "" {
		return entered, &sfu.ClientError{Code: sfu.CodeSessionFull, Message: refusal}
	}
	return grant, nil
}

// admitViewer returns why a participant that can only watch a stream can't enter; "" if it can. A user who is in the room already
// connects again and is no new viewer.
func (s *SFU) admitViewer(ctx context.Context, g sfu.Grant, e sfu.Entry) string {
	watches := g.Room.Kind == sfu.StreamRoom && g.Perms == (sfu.Perms{}) && !session.Moderates(g.Role)
	if s.viewers == nil || !watches || slices.Contains(s.server.Users(e.RoomID), g.UserID) {
		return ""
	}
	return s.viewers.AdmitPeer(ctx, g.TenantID, e.ConnID, e.Watches)
}

// possiblyEntered returns the participant whose entry may have committed although Enter
// returned an error; the zero Grant if it cannot have committed.
func (s *SFU) possiblyEntered(ctx context.Context, e sfu.Entry, err error) sfu.Grant {
	var moved *session.Moved
	if _, refused := problem.As(err); refused || errors.As(err, &moved) {
		return sfu.Grant{}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	t, err := s.sessions.AuthenticateParticipant(ctx, e.Token)
	if err != nil {
		return sfu.Grant{}
	}
	return sfu.Grant{TenantID: t.TenantID, RoomID: e.RoomID, UserID: t.UserID}
}

// turn is the lock of a room; several rooms share one.
func (s *SFU) turn(roomID string) *sync.Mutex {
	h := fnv.New32a()
	_, _ = h.Write([]byte(roomID))
	return &s.turns[h.Sum32()%uint32(len(s.turns))]
}

// clientError converts an error to the client's error.
func (s *SFU) clientError(ctx context.Context, e sfu.Entry, err error) error {
	if moved, ok := errors.AsType[*session.Moved](err); ok {
		return &sfu.ClientError{Code: sfu.CodeMoved, SFUURL: moved.SFUURL}
	}
	p, ok := problem.As(err)
	if !ok {
		return err
	}
	var code string
	switch p.Code {
	case "unauthenticated":
		code = sfu.CodeUnauthenticated
	case "token_expired":
		code = sfu.CodeTokenExpired
	case "session_full", "plan_limit":
		code = sfu.CodeSessionFull
	case "tenant_suspended":
		code = sfu.CodeSuspended
	case "conflict":
		code = sfu.CodeEnded
	case "unavailable":
		code = sfu.CodeInternal
	default:
		code = s.why(ctx, e)
	}
	return &sfu.ClientError{Code: code, Message: p.Message}
}

// why returns the specific code for a forbidden entry.
func (s *SFU) why(ctx context.Context, e sfu.Entry) string {
	t, err := s.sessions.AuthenticateParticipant(ctx, e.Token)
	if err != nil {
		return sfu.CodeForbidden
	}
	g, err := s.sessions.GetGrant(ctx, t.TenantID, e.RoomID, t.UserID)
	switch {
	case err != nil:
		return sfu.CodeForbidden
	case g.Gone == session.GoneKicked:
		return sfu.CodeKicked
	case g.Session != nil && g.Session.Locked:
		return sfu.CodeLocked
	}
	return sfu.CodeForbidden
}

// Entered implements sfu.Gate. A change that was committed between the entry and the
// join found no connection in the room.
func (s *SFU) Entered(ctx context.Context, c sfu.Connection) {
	s.RoomChanged(ctx, c.RoomID, c.UserID)
}

// Leave implements sfu.Gate.
func (s *SFU) Leave(ctx context.Context, c sfu.Connection) error {
	return s.sessions.Leave(ctx, c.TenantID, c.RoomID, c.UserID, c.ConnID)
}

// SetMuted implements sfu.Gate.
func (s *SFU) SetMuted(ctx context.Context, c sfu.Connection, muted bool) error {
	if err := s.sessions.SetMuted(ctx, c.TenantID, c.RoomID, c.UserID, c.ConnID, muted); err != nil {
		return err
	}
	s.RoomChanged(ctx, c.RoomID, c.UserID)
	return ctx.Err() // then the change may not have been applied
}

// RoomChanged implements Follower. It reads the grants and applies them in the server,
// which disconnects participants that were kicked or replaced. It retries until the
// database answers or ctx ends.
func (s *SFU) RoomChanged(ctx context.Context, roomID, userID string) {
	users := s.server.Users(roomID)
	if userID != "" {
		if !slices.Contains(users, userID) {
			return
		}
		users = []string{userID}
	}
	turn := s.turn(roomID)
	for pause := minPause; len(users) > 0; {
		some := users[:min(together, len(users))]
		asking, cancel := context.WithTimeout(ctx, askTime) // waiting for the turn counts too
		turn.Lock()
		grants, err := s.sessions.ListGrants(asking, roomID, some)
		for _, g := range grants {
			s.server.Apply(grantOf(g))
		}
		turn.Unlock()
		cancel()
		if err == nil {
			users, pause = users[len(some):], minPause
			continue
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return
		}
		s.log.Warn("sfu: participants' grants could not be read", "room", roomID, "error", err)
		select {
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		case <-ctx.Done():
			return
		}
	}
}

// Missed implements Follower.
func (s *SFU) Missed(ctx context.Context) {
	for _, roomID := range s.server.Rooms() {
		s.RoomChanged(ctx, roomID, "")
	}
}

// Watch writes a heartbeat every beatEvery: this process has an SFU with this
// number of participants. It returns when ctx ends.
func (s *SFU) Watch(ctx context.Context) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		if err := s.Beat(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("sfu: heartbeat not written", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Beat writes one heartbeat.
func (s *SFU) Beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return s.sessions.Beat(ctx, s.server.Stats().Participants)
}

// grantOf converts a grant for the SFU.
func grantOf(g session.Grant) sfu.Grant {
	to := sfu.Grant{
		TenantID: g.TenantID, RoomID: g.RoomID, UserID: g.UserID, ConnID: g.ConnID, DisplayName: g.DisplayName, Role: g.Role,
		Perms: sfu.Perms{Audio: g.Perms.Audio, Video: g.Perms.Video, Screen: g.Perms.Screen},
		State: g.State, Muted: g.Muted, Silenced: g.Silenced, HandRaised: g.HandRaised, Gone: byeOf(g.Gone),
		Room: sfu.RoomInfo{Kind: sfu.StreamRoom},
	}
	if v := g.Session; v != nil {
		to.Room = sfu.RoomInfo{Kind: sfu.SessionRoom, Session: map[string]any{
			"id": v.ID, "type": v.Type, "name": v.Name, "state": v.State, "layout": v.Layout, "hostId": v.HostID, "locked": v.Locked,
			"waitingRoom": v.WaitingRoom, "recordingEnabled": v.RecordingEnabled, "transcriptionEnabled": v.TranscriptionEnabled,
			"spotlightUserId": v.SpotlightUserID, "parentSessionId": v.ParentSessionID, "recordingId": v.RecordingID,
			"onAir": v.OnAir,
		}}
		recordingID := ""
		if v.RecordingID != nil {
			recordingID = *v.RecordingID
		}
		to.Room.RecordingID, to.Room.Broadcast = &recordingID, &sfu.BroadcastInfo{}
		if v.BroadcastID != nil {
			to.Room.Broadcast = &sfu.BroadcastInfo{ID: *v.BroadcastID, StreamID: *v.BroadcastStreamID}
		}
	}
	return to
}

// byeOf is the code with which a client is disconnected.
func byeOf(gone string) string {
	if gone == session.GoneUnknown {
		return sfu.CodeForbidden
	}
	return gone
}
