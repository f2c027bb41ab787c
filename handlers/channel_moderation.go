package handlers

import (
	"context"
	"time"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/rooms/chat"
)

// ListChannelModeration lists the acts of moderation in a channel.
func (s *Server) ListChannelModeration(
	ctx context.Context, r api.ListChannelModerationRequestObject,
) (api.ListChannelModerationResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Moderation)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Chat.ListChannelModeration(ctx, request.Caller(ctx), r.ID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(m db.ChannelModeration) string { return m.ID })
	return api.ListChannelModeration200JSONResponse{
		Body: each(rows, toModerationAction), Headers: api.ListChannelModeration200ResponseHeaders{Link: link},
	}, nil
}

// ListChannelRestrictions lists the restrictions that apply now in a channel.
func (s *Server) ListChannelRestrictions(
	ctx context.Context, r api.ListChannelRestrictionsRequestObject,
) (api.ListChannelRestrictionsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Moderation)
	if err != nil {
		return nil, err
	}
	f := chat.RestrictionFilter{Kind: (*string)(r.Params.Kind), UserIDs: r.Params.UserID}
	rows, err := s.areas.Chat.ListChannelRestrictions(ctx, request.Caller(ctx), r.ID, f, cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(m db.ChannelModeration) string { return m.ID })
	return api.ListChannelRestrictions200JSONResponse{
		Body: each(rows, toChannelRestriction), Headers: api.ListChannelRestrictions200ResponseHeaders{Link: link},
	}, nil
}

// TimeoutChannelMember prevents a user from writing for a time.
func (s *Server) TimeoutChannelMember(
	ctx context.Context, r api.TimeoutChannelMemberRequestObject,
) (api.TimeoutChannelMemberResponseObject, error) {
	row, err := s.areas.Chat.TimeoutChannelMember(ctx, request.Caller(ctx), r.ID,
		chat.Restriction{Target: r.Body.Target, By: r.Body.By, Reason: r.Body.Reason}, time.Duration(r.Body.DurationSec)*time.Second)
	if err != nil {
		return nil, err
	}
	return api.TimeoutChannelMember201JSONResponse(toModerationAction(row)), nil
}

// BanChannelMember bans a user from a channel.
func (s *Server) BanChannelMember(ctx context.Context, r api.BanChannelMemberRequestObject) (api.BanChannelMemberResponseObject, error) {
	row, err := s.areas.Chat.BanChannelMember(ctx, request.Caller(ctx), r.ID, toRestriction(r.Body))
	if err != nil {
		return nil, err
	}
	return api.BanChannelMember201JSONResponse(toModerationAction(row)), nil
}

// MuteChannelMember makes a user read-only.
func (s *Server) MuteChannelMember(ctx context.Context, r api.MuteChannelMemberRequestObject) (api.MuteChannelMemberResponseObject, error) {
	row, err := s.areas.Chat.MuteChannelMember(ctx, request.Caller(ctx), r.ID, toRestriction(r.Body))
	if err != nil {
		return nil, err
	}
	return api.MuteChannelMember201JSONResponse(toModerationAction(row)), nil
}

// SetChannelSlowmode sets the pause between two messages of one user.
func (s *Server) SetChannelSlowmode(
	ctx context.Context, r api.SetChannelSlowmodeRequestObject,
) (api.SetChannelSlowmodeResponseObject, error) {
	row, err := s.areas.Chat.SetChannelSlowmode(ctx, request.Caller(ctx), r.ID, r.Body.By, int32(r.Body.SlowmodeSec), r.Body.Reason)
	if err != nil {
		return nil, err
	}
	return api.SetChannelSlowmode201JSONResponse(toModerationAction(row)), nil
}

// toRestriction converts a body in which the validator has filled in the
// document's defaults.
func toRestriction(b *api.ChannelRestrictionInput) chat.Restriction {
	return chat.Restriction{Target: b.Target, By: b.By, Reason: b.Reason, Lift: !*b.Active}
}

func toModerationAction(m db.ChannelModeration) api.ChannelModerationAction {
	return api.ChannelModerationAction{
		ID: m.ID, ChannelID: m.ChannelID, Kind: api.ChannelModerationKind(m.Kind), Target: orNull(m.Target), By: m.ByUser,
		Reason: orNull(m.Reason), Active: m.Active, ExpiresAt: timeOrNull(m.ExpiresAt), SlowmodeSec: intOrNull(m.SlowmodeSec),
		CreatedAt: timestamp.From(m.CreatedAt),
	}
}

func toChannelRestriction(m db.ChannelModeration) api.ChannelRestriction {
	return api.ChannelRestriction{
		ID: m.ID, ChannelID: m.ChannelID, Kind: api.ChannelRestrictionKind(m.Kind), UserID: *m.Target, By: m.ByUser,
		Reason: orNull(m.Reason), Since: timestamp.From(m.CreatedAt), Until: timeOrNull(m.ExpiresAt),
	}
}
