package session

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/event"
	"showfloor/internal/realtime"
	"showfloor/internal/timestamp"
)

// Data is a session as events tell of it.
type Data struct {
	SessionID            string          `json:"sessionId"`
	Type                 string          `json:"type"`
	Name                 string          `json:"name"`
	ProjectID            *string         `json:"projectId"`
	HostID               string          `json:"hostId"`
	Capacity             int32           `json:"capacity"`
	RecordingEnabled     bool            `json:"recordingEnabled"`
	TranscriptionEnabled bool            `json:"transcriptionEnabled"`
	WaitingRoom          bool            `json:"waitingRoom"`
	Locked               bool            `json:"locked"`
	Layout               string          `json:"layout"`
	InviteUserIDs        []string        `json:"inviteUserIds"`
	State                string          `json:"state"`
	StartedAt            *timestamp.Time `json:"startedAt"`
	EndedAt              *timestamp.Time `json:"endedAt"`
	ParentSessionID      *string         `json:"parentSessionId"`
	// Metadata is the tenant's; nil in what participants receive.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// dataOf returns the session as webhooks carry it, with its metadata.
func dataOf(s db.Session) Data {
	return Data{
		SessionID: s.ID, Type: s.Type, Name: s.Name, ProjectID: s.ProjectID, HostID: s.HostID, Capacity: s.Capacity,
		RecordingEnabled: s.RecordingEnabled, TranscriptionEnabled: s.TranscriptionEnabled, WaitingRoom: s.WaitingRoom,
		Locked: s.Locked, Layout: s.Layout, InviteUserIDs: s.InviteUserIds, State: s.State,
		StartedAt: timestamp.Optional(s.StartedAt), EndedAt: timestamp.Optional(s.EndedAt), ParentSessionID: s.ParentSessionID,
		Metadata: s.Metadata,
	}
}

// ParticipantData is a participant as events tell of it.
type ParticipantData struct {
	SessionID        string          `json:"sessionId"`
	UserID           string          `json:"userId"`
	DisplayName      *string         `json:"displayName"`
	Role             string          `json:"role"`
	CanPublishScreen bool            `json:"canPublishScreen"`
	Perms            Perms           `json:"perms"`
	State            string          `json:"state"`
	JoinedAt         *timestamp.Time `json:"joinedAt"`
	By               *string         `json:"by"`
}

// ParticipantDataOf is the participant in events; by is who changed it.
func ParticipantDataOf(p db.Participant, by *string) ParticipantData {
	return ParticipantData{
		SessionID: p.RoomID, UserID: p.UserID, DisplayName: p.DisplayName, Role: p.Role, CanPublishScreen: p.CanPublishScreen,
		Perms: PermsOf(p), State: p.State, JoinedAt: timestamp.Optional(p.JoinedAt), By: by,
	}
}

// SpotlightData is the data of session.spotlight.
type SpotlightData struct {
	SessionID string  `json:"sessionId"`
	UserID    *string `json:"userId"`
	By        *string `json:"by"`
}

// By is the moderator whom events name: the participant whose token was shown, nil
// when the tenant's own server asked.
func By(c account.Caller) *string {
	if c.Participant == nil {
		return nil
	}
	return &c.Participant.UserID
}

// told is what a change has to say: its events, which commit with it, and what
// those in the room are told once it has.
type told struct {
	events       []event.Event
	publications []realtime.Publication
}

// add notes an event of a session. All but those about a call are published in the
// room too. For events with the session's own data there is addSession.
func (t *told) add(s db.Session, name string, data any) {
	t.events = append(t.events, event.Event{TenantID: s.TenantID, Name: name, Subject: s.ID, Data: data})
	if strings.HasPrefix(name, "session.") {
		t.publications = append(t.publications, realtime.Publication{Room: s.ID, Type: name, Data: data})
	}
}

// addSession notes an event whose data is the session's, extended by build. In the
// room it is published without the session's metadata, which is the tenant's own.
func (t *told) addSession(s db.Session, name string, build func(Data) any) {
	data := dataOf(s)
	t.events = append(t.events, event.Event{TenantID: s.TenantID, Name: name, Subject: s.ID, Data: build(data)})
	if name != event.SessionCreated { // nobody is in the room yet
		data.Metadata = nil
		t.publications = append(t.publications, realtime.Publication{Room: s.ID, Type: name, Data: build(data)})
	}
}

// emit writes the events in the transaction.
func (s *Service) emit(ctx context.Context, tx pgx.Tx, t *told) error {
	return s.config.Events.EmitMany(ctx, tx, t.events)
}

// publish tells those in the rooms, after the commit.
func (s *Service) publish(ctx context.Context, t *told) {
	for _, p := range t.publications {
		s.config.Realtime.Publish(ctx, p)
	}
}
