package chat

import (
	"context"
	"encoding/json"

	"showfloor/gen/db"
	"showfloor/internal/event"
	"showfloor/internal/realtime"
	"showfloor/internal/timestamp"
)

// createdData is the data of chat.message.created and of the publication chat.message.
type createdData struct {
	ID          string          `json:"id"`
	ChannelID   string          `json:"channelId"`
	AuthorID    string          `json:"authorId"`
	AuthorName  string          `json:"authorName"`
	Body        string          `json:"body"`
	ParentID    *string         `json:"parentId,omitempty"`
	Mentions    []string        `json:"mentions"`
	Attachments json.RawMessage `json:"attachments,omitempty"`
	CreatedAt   timestamp.Time  `json:"createdAt"`
}

// editedData is the data of chat.message.edited and of the publication chat.edited.
type editedData struct {
	createdData

	EditedAt timestamp.Time `json:"editedAt"`
}

// deletedData is the data of chat.message.deleted and of the publication chat.deleted.
type deletedData struct {
	ID         string `json:"id"`
	ChannelID  string `json:"channelId"`
	Redacted   bool   `json:"redacted"`
	RedactedBy string `json:"redactedBy"`
}

// joinedData is the data of channel.member.joined.
type joinedData struct {
	ChannelID string `json:"channelId"`
	UserID    string `json:"userId"`
	Role      string `json:"role"`
}

// leftData is the data of channel.member.left.
type leftData struct {
	ChannelID string `json:"channelId"`
	UserID    string `json:"userId"`
}

// actionData is the data of chat.moderation.action.
type actionData struct {
	ChannelID string  `json:"channelId"`
	Kind      string  `json:"kind"`
	Target    *string `json:"target,omitempty"`
	By        string  `json:"by"`
	Reason    *string `json:"reason,omitempty"`
}

// pinData is the data of the publication prod-pin.
type pinData struct {
	ID string `json:"id"`
}

func dataOf(m db.ChannelMessage) createdData {
	return createdData{
		ID: m.ID, ChannelID: m.ChannelID, AuthorID: m.AuthorID, AuthorName: m.AuthorName, Body: *m.Body, ParentID: m.ParentID,
		Mentions: m.Mentions, Attachments: m.Attachments, CreatedAt: timestamp.From(m.CreatedAt),
	}
}

func editedDataOf(m db.ChannelMessage) editedData {
	return editedData{dataOf(m), timestamp.From(*m.EditedAt)}
}

// happened builds an event of a channel. Its subject is "<channel id>/chat" and
// not the id alone, which is also the id of the stream or session. Events of one
// subject are delivered in order, so a busy chat would delay the session's events;
// the session's row isn't locked here either.
func happened(key lane, name string, data any) event.Event {
	return event.Event{TenantID: key.tenantID, Name: name, Subject: key.channelID + "/chat", Data: data}
}

// show publishes a change in the channel's room. Call it after the commit.
func (s *Service) show(ctx context.Context, key lane, kind string, data any) {
	s.config.Realtime.Publish(ctx, realtime.Publication{Room: key.channelID, Type: kind, Data: data})
}
