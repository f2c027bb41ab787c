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

// Data is a session in the data of events.
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
	// Metadata is set by the tenant; nil in what participants receive.
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

// ParticipantData is a participant in the data of events.
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

// ParticipantDataOf converts a participant for events; by is the user who changed
// it.
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

// By is the moderator for events: the user of the participant token, or nil when
// the tenant's own server called.
func By(c account.Caller) *string {
	if c.Participant == nil {
		return nil
	}
	return &c.Participant.UserID
}

// told collects what a change announces: events, which commit with it, and
// publications for the participants in the room, which follow the commit.
type told struct {
	events       []event.Event
	publications []realtime.Publication
}

// add adds an event of a session. It also adds a publication for the room, except
// for call events. Use addSession for events with the session's own data.
func (t *told) add(s db.Session, name string, data any) {
	t.events = append(t.events, event.Event{TenantID: s.TenantID, Name: name, Subject: s.ID, Data: data})
	if strings.HasPrefix(name, "session.") {
		t.publications = append(t.publications, realtime.Publication{Room: s.ID, Type: name, Data: data})
	}
}

// addSession adds an event whose data is the session's, extended by build. The
// publication for the room omits the session's metadata, which only the tenant may
// see.
func (t *told) addSession(s db.Session, name string, build func(Data) any) {
	data := dataOf(s)
	t.events = append(t.events, event.Event{TenantID: s.TenantID, Name: name, Subject: s.ID, Data: build(data)})
	if name != event.SessionCreated { // no participant is in a new session
		data.Metadata = nil
		t.publications = append(t.publications, realtime.Publication{Room: s.ID, Type: name, Data: build(data)})
	}
}

// emit writes the events in the transaction.
func (s *Service) emit(ctx context.Context, tx pgx.Tx, t *told) error {
	return s.config.Events.EmitMany(ctx, tx, t.events)
}

// publish sends the publications to the rooms. Call it after the commit.
func (s *Service) publish(ctx context.Context, t *told) {
	for _, p := range t.publications {
		s.config.Realtime.Publish(ctx, p)
	}
}
