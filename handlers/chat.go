package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/pipeline"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/rooms/chat"
)

// SendStreamMessage posts a message in a stream's chat.
func (s *Server) SendStreamMessage(ctx context.Context, r api.SendStreamMessageRequestObject) (api.SendStreamMessageResponseObject, error) {
	in, err := messageInput(r.Body)
	if err != nil {
		return nil, err
	}
	m, err := s.areas.Chat.SendStreamMessage(ctx, request.Caller(ctx), r.ID, in)
	if err != nil {
		return nil, err
	}
	shown, err := toMessage(m)
	return api.SendStreamMessage201JSONResponse(shown), err
}

// ListStreamMessages returns a stream's public chat.
func (s *Server) ListStreamMessages(
	ctx context.Context, r api.ListStreamMessagesRequestObject,
) (api.ListStreamMessagesResponseObject, error) {
	since, err := readPlace("since", r.Params.Since)
	if err != nil {
		return nil, err
	}
	limit := defaultPage
	if given(r.Params.Limit) != nil {
		if limit, err = strconv.Atoi(*r.Params.Limit); err != nil {
			return nil, problem.BadField("limit", "must be a whole number")
		}
	}
	rows, err := s.areas.Chat.ListStreamMessages(ctx, r.ID, since, limit)
	if err != nil {
		return nil, err
	}
	list, err := toMessages(rows)
	return api.ListStreamMessages200JSONResponse(list), err
}

// SendChannelMessage posts a message in a channel.
func (s *Server) SendChannelMessage(
	ctx context.Context, r api.SendChannelMessageRequestObject,
) (api.SendChannelMessageResponseObject, error) {
	in, err := messageInput(r.Body)
	if err != nil {
		return nil, err
	}
	m, err := s.areas.Chat.SendChannelMessage(ctx, request.Caller(ctx), r.ID, in)
	if err != nil {
		return nil, err
	}
	shown, err := toMessage(m)
	return api.SendChannelMessage201JSONResponse(shown), err
}

// ListChannelMessages returns a part of a channel's history.
func (s *Server) ListChannelMessages(
	ctx context.Context, r api.ListChannelMessagesRequestObject,
) (api.ListChannelMessagesResponseObject, error) {
	since, err := readPlace("since", r.Params.Since)
	if err != nil {
		return nil, err
	}
	before, err := readPlace("before", r.Params.Before)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Chat.ListChannelMessages(ctx, request.Caller(ctx), r.ID, since, before, pageSize(r.Params.Limit))
	if err != nil {
		return nil, err
	}
	list, err := toMessages(rows)
	return api.ListChannelMessages200JSONResponse(list), err
}

// EditChannelMessage replaces a message's text.
func (s *Server) EditChannelMessage(
	ctx context.Context, r api.EditChannelMessageRequestObject,
) (api.EditChannelMessageResponseObject, error) {
	patch := chat.Patch{Body: r.Body.Body, Mentions: r.Body.Mentions}
	m, err := s.areas.Chat.EditChannelMessage(ctx, request.Caller(ctx), r.ID, r.MessageID, patch)
	if err != nil {
		return nil, err
	}
	shown, err := toMessage(m)
	return api.EditChannelMessage200JSONResponse(shown), err
}

// DeleteChannelMessage erases a message's text.
func (s *Server) DeleteChannelMessage(
	ctx context.Context, r api.DeleteChannelMessageRequestObject,
) (api.DeleteChannelMessageResponseObject, error) {
	m, err := s.areas.Chat.DeleteChannelMessage(ctx, request.Caller(ctx), r.ID, r.MessageID, r.Params.RedactedBy)
	if err != nil {
		return nil, err
	}
	shown, err := toMessage(m)
	return api.DeleteChannelMessage200JSONResponse(shown), err
}

// readPlace reads the beginning or end of a page of history: a timestamp or a
// message's id.
func readPlace(field string, text *string) (chat.Place, error) {
	if given(text) == nil {
		return chat.Place{}, nil
	}
	if id.Message.Matches(*text) {
		return chat.Place{MessageID: *text}, nil
	}
	moment := strings.ReplaceAll(*text, " ", "+") // an unencoded + arrives as a space
	at, err := time.Parse(time.RFC3339, moment)
	if err != nil || pipeline.CheckTime(moment) != nil {
		return chat.Place{}, problem.BadField(field,
			"must be an RFC 3339 timestamp or the id of a message, such as 2026-01-31T12:00:00Z or msg_…")
	}
	return chat.Place{At: at}, nil
}

func messageInput(b *api.ChatMessageInput) (chat.Input, error) {
	in := chat.Input{Body: b.Body, AuthorID: b.AuthorID, AuthorName: b.AuthorName, ParentID: b.ParentID, Mentions: b.Mentions}
	if len(b.Attachments) == 0 {
		return in, nil
	}
	var err error
	if in.Attachments, err = json.Marshal(b.Attachments); err != nil {
		return in, fmt.Errorf("encode attachments: %w", err)
	}
	return in, nil
}

func toMessage(m db.ChannelMessage) (api.ChatMessage, error) {
	shown := api.ChatMessage{
		ID: m.ID, ChannelID: m.ChannelID, AuthorID: m.AuthorID, AuthorName: m.AuthorName, Body: orNull(m.Body), ParentID: m.ParentID,
		Mentions: m.Mentions, CreatedAt: timestamp.From(m.CreatedAt), EditedAt: timeOrNull(m.EditedAt),
		Redacted: m.RedactedAt != nil, RedactedBy: orNull(m.RedactedBy),
	}
	if m.Attachments == nil {
		return shown, nil
	}
	if err := json.Unmarshal(m.Attachments, &shown.Attachments); err != nil {
		return shown, fmt.Errorf("decode attachments of %s: %w", m.ID, err)
	}
	return shown, nil
}

func toMessages(rows []db.ChannelMessage) (list []api.ChatMessage, err error) {
	list = make([]api.ChatMessage, len(rows))
	for i, m := range rows {
		if list[i], err = toMessage(m); err != nil {
			return nil, err
		}
	}
	return list, nil
}
