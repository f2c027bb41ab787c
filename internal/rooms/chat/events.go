package chat

import (
	"context"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/outflow/realtime"
)

// pinData is the data of the publication prod-pin.
type pinData struct {
	ID string `json:"id"`
}

// dataOf converts a message for chat.message.created and for the publication chat.message.
func dataOf(m db.ChannelMessage) eventdata.ChatMessageCreatedData {
	return eventdata.ChatMessageCreatedData{
		ID: m.ID, ChannelID: m.ChannelID, AuthorID: m.AuthorID, AuthorName: m.AuthorName, Body: *m.Body, ParentID: m.ParentID,
		Mentions: m.Mentions, Attachments: m.Attachments, CreatedAt: timestamp.From(m.CreatedAt),
	}
}

// editedDataOf converts a message for chat.message.edited and for the publication chat.edited.
func editedDataOf(m db.ChannelMessage) eventdata.ChatMessageEditedData {
	return eventdata.ChatMessageEditedData{ChatMessageCreatedData: dataOf(m), EditedAt: timestamp.From(*m.EditedAt)}
}

// subjectOf is the subject of a channel's events. It isn't the id alone, which is
// also the id of the stream or session: events of one subject are delivered in
// order, so a busy chat would delay the session's events. The session's row isn't
// locked here either.
func subjectOf(channelID string) string { return channelID + "/chat" }

// newEvent builds an event of a channel.
func newEvent(key channelKey, name string, data any) event.Event {
	return event.Event{TenantID: key.tenantID, Name: name, Subject: subjectOf(key.channelID), Data: data}
}

// publish sends a change to the subscribers of the channel's room once tx is
// committed.
func (s *Service) publish(ctx context.Context, tx pgx.Tx, key channelKey, kind string, data any) {
	postgres.AfterCommit(tx, func() {
		s.config.Realtime.Publish(ctx, realtime.Publication{Room: key.channelID, Type: kind, Data: data})
	})
}
