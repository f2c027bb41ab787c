package handlers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/rooms/chat"
)

// ListChannels lists the tenant's groups and direct channels.
func (s *Server) ListChannels(ctx context.Context, r api.ListChannelsRequestObject) (api.ListChannelsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Channel)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Chat.ListChannels(ctx, request.Caller(ctx), r.Params.UserID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v chat.View) string { return v.ID })
	return api.ListChannels200JSONResponse{Body: each(views, toChannel), Headers: api.ListChannels200ResponseHeaders{Link: link}}, nil
}

// CreateChannel creates a group channel.
func (s *Server) CreateChannel(ctx context.Context, r api.CreateChannelRequestObject) (api.CreateChannelResponseObject, error) {
	v, err := s.areas.Chat.CreateChannel(ctx, request.Caller(ctx), chat.GroupInput{
		Name: r.Body.Name, ProjectID: r.Body.ProjectID, HostID: r.Body.HostID, UserIDs: r.Body.UserIds,
	})
	if err != nil {
		return nil, err
	}
	return api.CreateChannel201JSONResponse(toChannel(v)), nil
}

// CreateDirectChannel returns the direct channel of two users and creates it if
// there is none.
func (s *Server) CreateDirectChannel(
	ctx context.Context, r api.CreateDirectChannelRequestObject,
) (api.CreateDirectChannelResponseObject, error) {
	v, err := s.areas.Chat.CreateDirectChannel(ctx, request.Caller(ctx), chat.DirectInput{
		UserIDs: r.Body.UserIds, Name: r.Body.Name, ProjectID: r.Body.ProjectID,
	})
	if err != nil {
		return nil, err
	}
	return api.CreateDirectChannel201JSONResponse(toChannel(v)), nil
}

// GetChannel returns a channel.
func (s *Server) GetChannel(ctx context.Context, r api.GetChannelRequestObject) (api.GetChannelResponseObject, error) {
	v, err := s.areas.Chat.GetChannel(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetChannel200JSONResponse(toChannel(v)), nil
}

// ListChannelMembers lists the members of a channel.
func (s *Server) ListChannelMembers(
	ctx context.Context, r api.ListChannelMembersRequestObject,
) (api.ListChannelMembersResponseObject, error) {
	size := pageSize(r.Params.Limit)
	begin, err := readJoined(r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	members, places, err := s.areas.Chat.ListChannelMembers(ctx, request.Caller(ctx), r.ID, begin, size+1)
	if err != nil {
		return nil, err
	}
	var link *string
	if len(members) > size {
		members, link = members[:size], s.nextPage(ctx, joinedCursor(places[size-1]))
	}
	return api.ListChannelMembers200JSONResponse{
		Body: each(members, toChannelMember), Headers: api.ListChannelMembers200ResponseHeaders{Link: link},
	}, nil
}

// JoinChannel makes a user a member.
func (s *Server) JoinChannel(ctx context.Context, r api.JoinChannelRequestObject) (api.JoinChannelResponseObject, error) {
	m, err := s.areas.Chat.JoinChannel(ctx, request.Caller(ctx), r.ID, r.Body.UserID, (*string)(r.Body.Role))
	if err != nil {
		return nil, err
	}
	return api.JoinChannel201JSONResponse(toChannelMember(m)), nil
}

// LeaveChannel ends a membership.
func (s *Server) LeaveChannel(ctx context.Context, r api.LeaveChannelRequestObject) (api.LeaveChannelResponseObject, error) {
	m, err := s.areas.Chat.LeaveChannel(ctx, request.Caller(ctx), r.ID, r.Body.UserID)
	if err != nil {
		return nil, err
	}
	return api.LeaveChannel201JSONResponse(toChannelMember(m)), nil
}

// joinedCursor encodes a position in the order of joining: the time in microseconds, the
// database's resolution, and a tie-breaker for members who joined in the same microsecond.
func joinedCursor(j chat.Joined) string { return fmt.Sprintf("%d.%s", j.At.UnixMicro(), j.Tie) }

// readJoined decodes joinedCursor's result. Without a cursor it returns the start of
// the list.
func readJoined(cursor *string) (chat.Joined, error) {
	if cursor == nil {
		return chat.Joined{}, nil
	}
	at, tie, _ := strings.Cut(*cursor, ".")
	micros, err := strconv.ParseInt(at, 10, 64)
	const hexDigits = 32
	if err != nil || micros < 0 || len(tie) != hexDigits || strings.Trim(tie, "0123456789abcdef") != "" {
		return chat.Joined{}, problem.BadField("cursor", "is not from a Link header of this list")
	}
	return chat.Joined{At: time.UnixMicro(micros).UTC(), Tie: tie}, nil
}

func toChannel(v chat.View) api.Channel {
	return api.Channel{
		ID: v.ID, Kind: api.ChannelKind(v.Kind), Name: v.Name, ProjectID: orNull(v.ProjectID), MemberCount: int(v.MemberCount),
		SlowmodeSec: int(v.SlowmodeSec), LastMessageAt: timeOrNull(v.LastMessageAt), CreatedAt: timestamp.From(v.CreatedAt),
		UpdatedAt: timestamp.From(v.UpdatedAt),
	}
}

func toChannelMember(m chat.Member) api.ChannelMember {
	return api.ChannelMember{
		ChannelID: m.ChannelID, UserID: m.UserID, Role: api.ParticipantRole(m.Role), JoinedAt: timestamp.From(m.JoinedAt),
		LeftAt: timeOrNull(m.LeftAt), TimedOutUntil: timeOrNull(m.TimedOutUntil), Muted: m.Muted, Banned: m.Banned,
	}
}
