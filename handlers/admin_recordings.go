package handlers

import (
	"context"
	"time"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/recording"
)

// ListAdminRecordings lists the recordings of all tenants.
func (s *Server) ListAdminRecordings(
	ctx context.Context, r api.ListAdminRecordingsRequestObject,
) (api.ListAdminRecordingsResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	filter := recording.Filter{TenantID: given(r.Params.TenantID), Status: given(r.Params.Status)}
	views, total, err := s.areas.Recordings.ListAdminRecordings(ctx, filter, (page.Number-1)*page.Size, page.Size)
	if err != nil {
		return nil, err
	}
	return api.ListAdminRecordings200JSONResponse{
		Items: each(views, toAdminRecording), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// DeleteAdminRecording deletes a recording of any tenant.
func (s *Server) DeleteAdminRecording(
	ctx context.Context, r api.DeleteAdminRecordingRequestObject,
) (api.DeleteAdminRecordingResponseObject, error) {
	v, err := s.areas.Recordings.DeleteAdminRecording(ctx, request.Admin(ctx).Actor(), r.ID, r.Body.Reason)
	if err != nil {
		return nil, err
	}
	return api.DeleteAdminRecording200JSONResponse(toAdminRecording(v)), nil
}

// UpdateAdminRecordingRetention changes how long a recording is kept.
func (s *Server) UpdateAdminRecordingRetention(
	ctx context.Context, r api.UpdateAdminRecordingRetentionRequestObject,
) (api.UpdateAdminRecordingRetentionResponseObject, error) {
	var until *time.Time
	if at := orNil(r.Body.RetainUntil); at != nil {
		until = &at.Time
	}
	v, err := s.areas.Recordings.UpdateAdminRecordingRetention(ctx, request.Admin(ctx).Actor(), r.ID, recording.RetentionChange{
		SetRetain: r.Body.RetainUntil.IsSpecified(), RetainUntil: until, LegalHold: r.Body.LegalHold, Reason: orEmpty(r.Body.Reason),
	})
	if err != nil {
		return nil, err
	}
	return api.UpdateAdminRecordingRetention200JSONResponse(toAdminRecording(v)), nil
}

func toAdminRecording(v recording.AdminView) api.AdminRecording {
	return api.AdminRecording{
		ID: v.ID, TenantID: v.TenantID, TenantName: v.TenantName, StreamID: orNull(v.StreamID), StreamName: orNull(v.StreamName),
		SessionID: orNull(v.SessionID),
		Status:    api.RecordingStatus(v.Status), DurationSec: toSeconds(v.DurationMs), SizeBytes: orNull(v.SizeBytes),
		Error: orNull(v.Error), IncompleteReason: orNull(incompleteReason(v.Recording)),
		RetainUntil: timeOrNull(v.RetainUntil), LegalHold: v.LegalHold,
		StartedAt: timestamp.From(v.StartedAt), EndedAt: timeOrNull(v.EndedAt),
		DeletedAt: timeOrNull(v.DeletedAt), DeletedReason: orNull(v.DeletedReason),
		CreatedAt: timestamp.From(v.CreatedAt), UpdatedAt: timestamp.From(v.UpdatedAt),
	}
}
