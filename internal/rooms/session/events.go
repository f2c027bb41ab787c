package session

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy"
)

// dataOf returns the session as webhooks carry it, with its metadata.
func dataOf(s db.Session) eventdata.SessionEventData {
	return eventdata.SessionEventData{
		SessionID: s.ID, Type: eventdata.SessionType(s.Type), Name: s.Name, ProjectID: s.ProjectID, HostID: s.HostID, Capacity: s.Capacity,
		RecordingEnabled: s.RecordingEnabled, TranscriptionEnabled: s.TranscriptionEnabled, WaitingRoom: s.WaitingRoom,
		Locked: s.Locked, Layout: eventdata.SessionLayout(s.Layout), InviteUserIds: s.InviteUserIds, State: eventdata.SessionState(s.State),
		StartedAt: timestamp.Optional(s.StartedAt), EndedAt: timestamp.Optional(s.EndedAt), ParentSessionID: s.ParentSessionID,
		Metadata: s.Metadata,
	}
}

// participantDataOf converts a participant for events; by is the user who changed it.
func participantDataOf(p db.Participant, by *string) eventdata.SessionParticipantEventData {
	perms := PermsOf(p)
	return eventdata.SessionParticipantEventData{
		SessionID: p.RoomID, UserID: p.UserID, DisplayName: p.DisplayName, Role: eventdata.ParticipantRole(p.Role),
		CanPublishScreen: p.CanPublishScreen, Perms: eventdata.ParticipantPerms{Audio: perms.Audio, Video: perms.Video, Screen: perms.Screen},
		State: eventdata.ParticipantState(p.State), JoinedAt: timestamp.Optional(p.JoinedAt), By: by,
	}
}

// participantUpdated is the data of session.participant.updated.
func participantUpdated(p db.Participant, by *string) eventdata.SessionParticipantUpdatedData {
	return eventdata.SessionParticipantUpdatedData{SessionParticipantEventData: participantDataOf(p, by)}
}

// By is the moderator for events: the user of the participant token, or nil when
// the tenant's own server called.
func By(c tenancy.Caller) *string {
	if c.Participant == nil {
		return nil
	}
	return &c.Participant.UserID
}

// announcements collects what a change announces: events, which commit with it, and
// publications for the participants in the room, which follow the commit.
type announcements struct {
	events       []event.Event
	publications []realtime.Publication
}

// add adds an event of a session. It also adds a publication for the room, except
// for call events. Use addSession for events with the session's own data.
func (a *announcements) add(s db.Session, name string, data any) {
	a.events = append(a.events, event.Event{TenantID: s.TenantID, Name: name, Subject: s.ID, Data: data})
	if strings.HasPrefix(name, "session.") {
		a.publications = append(a.publications, realtime.Publication{Room: s.ID, Type: name, Data: data})
	}
}

// addSession adds an event whose data is the session's, extended by build. The
// publication for the room omits the session's metadata, which only the tenant may
// see.
func (a *announcements) addSession(s db.Session, name string, build func(eventdata.SessionEventData) any) {
	data := dataOf(s)
	a.events = append(a.events, event.Event{TenantID: s.TenantID, Name: name, Subject: s.ID, Data: build(data)})
	if name != event.SessionCreated { // no participant is in a new session
		data.Metadata = nil
		a.publications = append(a.publications, realtime.Publication{Room: s.ID, Type: name, Data: build(data)})
	}
}

// announce writes the events in the transaction, and sends the publications to the
// rooms once it is committed.
func (s *Service) announce(ctx context.Context, tx pgx.Tx, a *announcements) error {
	postgres.AfterCommit(tx, func() {
		for _, p := range a.publications {
			s.config.Realtime.Publish(ctx, p)
		}
	})
	return s.config.Events.EmitManyTx(ctx, tx, a.events)
}
