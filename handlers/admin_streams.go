package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console"
	"showfloor/internal/streams/stream"
)

// ListAdminLiveStreams lists the streams on air.
func (s *Server) ListAdminLiveStreams(
	ctx context.Context, r api.ListAdminLiveStreamsRequestObject,
) (api.ListAdminLiveStreamsResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	views, total, err := s.areas.Streams.ListAdminLiveStreams(ctx, given(r.Params.TenantID), skipOf(page), int32(page.Size))
	if err != nil {
		return nil, err
	}
	return api.ListAdminLiveStreams200JSONResponse{
		Items: each(views, s.toAdminStream), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// ListAdminStreamHistory lists the streams that have been on air.
func (s *Server) ListAdminStreamHistory(
	ctx context.Context, r api.ListAdminStreamHistoryRequestObject,
) (api.ListAdminStreamHistoryResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	views, total, err := s.areas.Streams.ListAdminStreamHistory(
		ctx, given(r.Params.TenantID), given(r.Params.Status), skipOf(page), int32(page.Size))
	if err != nil {
		return nil, err
	}
	return api.ListAdminStreamHistory200JSONResponse{
		Items: each(views, s.toAdminStream), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// skipOf is the number of entries before a page.
func skipOf(p console.Page) int64 { return int64(p.Number-1) * int64(p.Size) }

// GetAdminStream returns a stream with its publisher, recordings and audit.
func (s *Server) GetAdminStream(ctx context.Context, r api.GetAdminStreamRequestObject) (api.GetAdminStreamResponseObject, error) {
	d, err := s.areas.Console.GetAdminStream(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	entries, err := toAuditEntries(d.Audit)
	if err != nil {
		return nil, err
	}
	return api.GetAdminStream200JSONResponse{
		Stream: s.toAdminStream(d.Stream), Tenant: toTenant(d.Tenant.Tenant), Publisher: toStreamPublisher(d.Stream.Publisher),
		Recordings: each(d.Recordings, toAdminRecording), Audit: entries,
	}, nil
}

// ForceStopStream ends a stream's broadcast.
func (s *Server) ForceStopStream(ctx context.Context, r api.ForceStopStreamRequestObject) (api.ForceStopStreamResponseObject, error) {
	v, err := s.areas.Streams.ForceStopAdminStream(ctx, request.Admin(ctx).Actor(), r.ID, r.Body.Reason)
	if err != nil {
		return nil, err
	}
	return api.ForceStopStream201JSONResponse(s.toAdminStream(v)), nil
}

// ListAdminStreamKeys lists stream keys.
func (s *Server) ListAdminStreamKeys(
	ctx context.Context, r api.ListAdminStreamKeysRequestObject,
) (api.ListAdminStreamKeysResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	consumed, err := oneOf("consumed", r.Params.Consumed, []string{"true", "false"})
	if err != nil {
		return nil, err
	}
	filter := stream.KeyFilter{TenantID: given(r.Params.TenantID), Q: given(r.Params.Q)}
	if consumed != nil {
		filter.Used = new(*consumed == "true")
	}
	keys, total, err := s.areas.Streams.ListAdminStreamKeys(ctx, filter, skipOf(page), int32(page.Size))
	if err != nil {
		return nil, err
	}
	return api.ListAdminStreamKeys200JSONResponse{
		Items: each(keys, toAdminStreamKey), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// RevokeStreamKey makes servers refuse a stream key.
func (s *Server) RevokeStreamKey(ctx context.Context, r api.RevokeStreamKeyRequestObject) (api.RevokeStreamKeyResponseObject, error) {
	key, err := s.areas.Streams.RevokeStreamKey(ctx, request.Admin(ctx).Actor(), r.ID, r.Body.Reason)
	if err != nil {
		return nil, err
	}
	return api.RevokeStreamKey201JSONResponse(toAdminStreamKey(key)), nil
}

func (s *Server) toAdminStream(v stream.AdminView) api.AdminStream {
	return api.AdminStream{
		ID: v.ID, TenantID: v.TenantID, TenantName: v.TenantName, Name: v.Name, Mode: api.StreamMode(v.Mode), Status: api.StreamStatus(v.Status),
		ProjectID: orNull(v.ProjectID), RecordingEnabled: v.RecordingEnabled, ReconnectWindowSec: int(v.ReconnectWindowSec),
		ViewerCount: v.Viewers, Health: toStreamHealth(v.Health), BlockedUntil: timeOrNull(s.areas.Streams.BlockedUntil(v.BlockedUntil)),
		PictureURL: orNull(s.areas.Streams.AdminPictureURL(v.Stream)),
		StartedAt:  timeOrNull(v.StartedAt), EndedAt: timeOrNull(v.EndedAt),
		CreatedAt: timestamp.From(v.CreatedAt), UpdatedAt: timestamp.From(v.UpdatedAt),
	}
}

// toStreamPublisher is null without a publisher.
func toStreamPublisher(p *stream.Publisher) nullable.Nullable[api.StreamPublisher] {
	if p == nil {
		return nullable.NewNullNullable[api.StreamPublisher]()
	}
	return nullable.NewNullableWithValue(api.StreamPublisher{
		ID: p.ID, Source: toPublisherSource(p.Source), RemoteIP: p.RemoteIP, Node: p.Node,
		AcceptedAt: timestamp.From(p.AcceptedAt), LiveAt: timeOrNull(p.LiveAt),
	})
}

func toPublisherSource(source string) api.StreamPublisherSource {
	switch source {
	case stream.SourceSRS:
		return api.StreamPublisherSourceSRS
	case stream.SourceWebRTC:
		return api.StreamPublisherSourceWEBRTC
	case stream.SourceSession:
		return api.StreamPublisherSourceSESSION
	default:
		return api.StreamPublisherSourceRTMP
	}
}

func toAdminStreamKey(k stream.KeyView) api.AdminStreamKey {
	return api.AdminStreamKey{
		ID: k.ID, TenantID: k.TenantID, TenantName: k.TenantName, StreamID: k.StreamID, StreamName: k.StreamName, Last4: k.Last4,
		Status: api.StreamKeyStatus(k.Status), Consumed: k.ConsumedAt != nil, ConsumedAt: timeOrNull(k.ConsumedAt),
		LastUsedAt: timeOrNull(k.LastUsedAt), BlockedUntil: timeOrNull(k.BlockedUntil), RevokedAt: timeOrNull(k.RevokedAt),
		RevokedReason: orNull(k.RevokedReason), CreatedAt: timestamp.From(k.CreatedAt),
	}
}
