package inroom

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"time"

	"showfloor/internal/media/sfu"
	"showfloor/internal/problem"
	"showfloor/internal/session"
)

const (
	// askTime is for the database to answer what nobody waits for.
	askTime = 10 * time.Second
	// beatEvery is how often this process says how many participants it carries.
	beatEvery = 10 * time.Second
	// together is how many participants are asked about at a time.
	together = 1000
)

// SFU lets participants into the SFU's rooms and tells it how they stand: an
// sfu.Gate and a Follower.
type SFU struct {
	sessions *session.Service
	log      *slog.Logger
	server   *sfu.Server
	// turns, by room, keep what was read earlier from being applied later.
	turns [64]sync.Mutex
}

var (
	_ sfu.Gate = (*SFU)(nil)
	_ Follower = (*SFU)(nil)
)

// NewSFU makes the gate; Connect must be called before it is used.
func NewSFU(sessions *session.Service, log *slog.Logger) *SFU {
	return &SFU{sessions: sessions, log: log}
}

// Connect tells which server it is the gate of.
func (s *SFU) Connect(server *sfu.Server) { s.server = server }

// Identify implements sfu.Gate.
func (s *SFU) Identify(ctx context.Context, token string) (string, error) {
	t, err := s.sessions.AuthenticateParticipant(ctx, token)
	if err != nil {
		return "", s.refusal(ctx, sfu.Entry{Token: token}, err)
	}
	return t.RoomID, nil
}

// Enter implements sfu.Gate.
func (s *SFU) Enter(ctx context.Context, e sfu.Entry) (sfu.Grant, error) {
	g, err := s.sessions.Enter(ctx, session.EnterInput{Token: e.Token, RoomID: e.RoomID, ConnID: e.ConnID})
	if err != nil {
		return s.perhaps(ctx, e, err), s.refusal(ctx, e, err)
	}
	entered := sfu.Grant{TenantID: g.TenantID, RoomID: g.RoomID, UserID: g.UserID}
	// What the room shows of the session and the participant is read after the entry,
	// which counts even if the client has hung up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	if g, err = s.sessions.GetGrant(ctx, g.TenantID, g.RoomID, g.UserID); err != nil {
		return entered, err
	}
	if g.Gone != "" {
		return entered, &sfu.Refusal{Code: byeOf(g.Gone)}
	}
	if g.ConnID != e.ConnID {
		return entered, &sfu.Refusal{Code: session.GoneReplaced}
	}
	return grantOf(g), nil
}

// perhaps is whom an entry that failed may have let in: whose commit nobody knows of.
func (s *SFU) perhaps(ctx context.Context, e sfu.Entry, err error) sfu.Grant {
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

// turn is the one of a room, and of others too.
func (s *SFU) turn(roomID string) *sync.Mutex {
	h := fnv.New32a()
	_, _ = h.Write([]byte(roomID))
	return &s.turns[h.Sum32()%uint32(len(s.turns))]
}

// refusal is what the client is told of an error.
func (s *SFU) refusal(ctx context.Context, e sfu.Entry, err error) error {
	if moved, ok := errors.AsType[*session.Moved](err); ok {
		return &sfu.Refusal{Code: sfu.CodeMoved, SFUURL: moved.SFUURL}
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
	case "session_full":
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
	return &sfu.Refusal{Code: code, Message: p.Message}
}

// why tells what kind of forbidden it is.
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

// Entered implements sfu.Gate.
func (s *SFU) Entered(ctx context.Context, c sfu.Connection) {
	s.lookUntil(ctx, c.RoomID, []string{c.UserID})
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
	return s.look(ctx, c.RoomID, []string{c.UserID})
}

// RoomChanged implements Follower.
func (s *SFU) RoomChanged(ctx context.Context, roomID, userID string) {
	users := s.server.Users(roomID)
	if userID != "" {
		if !slices.Contains(users, userID) {
			return
		}
		users = []string{userID}
	}
	s.lookUntil(ctx, roomID, users)
}

// Missed implements Follower.
func (s *SFU) Missed(ctx context.Context) {
	for _, roomID := range s.server.Rooms() {
		s.lookUntil(ctx, roomID, s.server.Users(roomID))
	}
}

// lookUntil looks until the database answers.
func (s *SFU) lookUntil(ctx context.Context, roomID string, users []string) {
	pause := 100 * time.Millisecond
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, askTime)
		err := s.look(asking, roomID, users)
		cancel()
		if err == nil {
			return
		}
		s.log.Warn("sfu: how participants stand is not known", "room", roomID, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// look reads how users of a room stand and tells the server.
func (s *SFU) look(ctx context.Context, roomID string, users []string) error {
	turn := s.turn(roomID)
	for some := range slices.Chunk(users, together) {
		turn.Lock()
		grants, err := s.sessions.ListRoom(ctx, roomID, some)
		if err == nil {
			for _, g := range grants {
				s.server.Apply(grantOf(g))
			}
		}
		turn.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// Watch says again and again that this process has an SFU and how many
// participants are there. It returns when ctx ends.
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

// Beat says so once.
func (s *SFU) Beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return s.sessions.Beat(ctx, s.server.Stats().Participants)
}

// grantOf is a standing as the SFU takes it.
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
			"waitingRoom": v.WaitingRoom, "recordingEnabled": v.RecordingEnabled, "spotlightUserId": v.SpotlightUserID,
			"parentSessionId": v.ParentSessionID,
		}}
	}
	return to
}

// byeOf is the code by which a client is sent away.
func byeOf(gone string) string {
	if gone == session.GoneUnknown {
		return sfu.CodeForbidden
	}
	return gone
}
