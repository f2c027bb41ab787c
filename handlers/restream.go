package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/restream"
)

// ListRestreamPresets lists the platforms for which a stream key is enough.
func (s *Server) ListRestreamPresets(
	context.Context, api.ListRestreamPresetsRequestObject,
) (api.ListRestreamPresetsResponseObject, error) {
	return api.ListRestreamPresets200JSONResponse(each(restream.Presets(), func(p restream.Preset) api.RestreamPreset {
		return api.RestreamPreset{Platform: p.Platform, Name: p.Name, Address: p.Address}
	})), nil
}

// ListRestreamTargets lists the tenant's targets.
func (s *Server) ListRestreamTargets(
	ctx context.Context, r api.ListRestreamTargetsRequestObject,
) (api.ListRestreamTargetsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.RestreamTarget)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Restreams.ListRestreamTargets(ctx, request.Caller(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(t db.RestreamTarget) string { return t.ID })
	return api.ListRestreamTargets200JSONResponse{
		Body: each(rows, s.toRestreamTarget), Headers: api.ListRestreamTargets200ResponseHeaders{Link: link},
	}, nil
}

// CreateRestreamTarget adds a target. No answer contains its whole address.
func (s *Server) CreateRestreamTarget(
	ctx context.Context, r api.CreateRestreamTargetRequestObject,
) (api.CreateRestreamTargetResponseObject, error) {
	in := restream.TargetInput{Name: r.Body.Name, Platform: r.Body.Platform, RTMPURL: r.Body.RtmpURL, StreamKey: r.Body.StreamKey}
	row, err := s.areas.Restreams.CreateRestreamTarget(ctx, request.Caller(ctx), in)
	if err != nil {
		return nil, err
	}
	return api.CreateRestreamTarget201JSONResponse(s.toRestreamTarget(row)), nil
}

// UpdateRestreamTarget changes a target.
func (s *Server) UpdateRestreamTarget(
	ctx context.Context, r api.UpdateRestreamTargetRequestObject,
) (api.UpdateRestreamTargetResponseObject, error) {
	row, err := s.areas.Restreams.UpdateRestreamTarget(ctx, request.Caller(ctx), r.ID, restream.TargetPatch{
		Name: r.Body.Name, Platform: r.Body.Platform, RTMPURL: r.Body.RtmpURL, StreamKey: r.Body.StreamKey,
	})
	if err != nil {
		return nil, err
	}
	return api.UpdateRestreamTarget200JSONResponse(s.toRestreamTarget(row)), nil
}

// DeleteRestreamTarget removes a target and ends its routes.
func (s *Server) DeleteRestreamTarget(
	ctx context.Context, r api.DeleteRestreamTargetRequestObject,
) (api.DeleteRestreamTargetResponseObject, error) {
	row, err := s.areas.Restreams.DeleteRestreamTarget(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DeleteRestreamTarget200JSONResponse(s.toRestreamTarget(row)), nil
}

// TestRestreamTarget publishes to a target without media.
func (s *Server) TestRestreamTarget(
	ctx context.Context, r api.TestRestreamTargetRequestObject,
) (api.TestRestreamTargetResponseObject, error) {
	got, err := s.areas.Restreams.TestRestreamTarget(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.TestRestreamTarget201JSONResponse(toRestreamTargetTest(got)), nil
}

// ListRestreamRoutes lists the routes of one stream.
func (s *Server) ListRestreamRoutes(
	ctx context.Context, r api.ListRestreamRoutesRequestObject,
) (api.ListRestreamRoutesResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.RestreamRoute)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Restreams.ListRestreamRoutes(ctx, request.Caller(ctx), r.StreamID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(r restream.Route) string { return r.ID })
	return api.ListRestreamRoutes200JSONResponse{
		Body: each(rows, s.toRestreamRoute), Headers: api.ListRestreamRoutes200ResponseHeaders{Link: link},
	}, nil
}

// AttachRestreamTargets forwards a stream to targets.
func (s *Server) AttachRestreamTargets(
	ctx context.Context, r api.AttachRestreamTargetsRequestObject,
) (api.AttachRestreamTargetsResponseObject, error) {
	n, err := s.areas.Restreams.AttachRestreamTargets(ctx, request.Caller(ctx), r.StreamID, r.Body.TargetIds)
	if err != nil {
		return nil, err
	}
	return api.AttachRestreamTargets201JSONResponse{Attached: n}, nil
}

// DetachRestreamTarget stops forwarding a stream to a target.
func (s *Server) DetachRestreamTarget(
	ctx context.Context, r api.DetachRestreamTargetRequestObject,
) (api.DetachRestreamTargetResponseObject, error) {
	row, err := s.areas.Restreams.DetachRestreamTarget(ctx, request.Caller(ctx), r.StreamID, r.TargetID)
	if err != nil {
		return nil, err
	}
	return api.DetachRestreamTarget200JSONResponse(s.toRestreamRoute(row)), nil
}

func (s *Server) toRestreamTarget(t db.RestreamTarget) api.RestreamTarget {
	return api.RestreamTarget{
		ID: t.ID, Name: t.Name, Platform: t.Platform, RtmpURL: restream.Mask(t.AddressEnd),
		PresetServer: s.areas.Restreams.HasPresetServer(t), Active: t.DeletedAt == nil, CreatedAt: timestamp.From(t.CreatedAt),
	}
}

func toRestreamTargetTest(p restream.Probed) api.RestreamTargetTest {
	return api.RestreamTargetTest{
		KeyAccepted: orNull(p.KeyAccepted), Message: p.Message, TargetAnswer: orNull(given(&p.Answer)), TookMs: int(p.Took.Milliseconds()),
		Steps: each(p.Steps, func(s restream.ProbeStep) api.RestreamTestStep {
			return api.RestreamTestStep{
				Name: api.RestreamTestStepName(s.Name), Succeeded: s.Failure == "", TookMs: int(s.Took.Milliseconds()),
				Failure: orNull(given(&s.Failure)),
			}
		}),
	}
}

func (s *Server) toRestreamRoute(r restream.Route) api.RestreamRoute {
	out := api.RestreamRoute{
		ID: r.ID, TargetID: r.TargetID, Target: api.RestreamRouteTarget{Name: r.TargetName, Platform: r.TargetPlatform},
		Status: api.RestreamRouteStatus(r.Status), StartedAt: timeOrNull(r.StartedAt), EndedAt: timeOrNull(r.EndedAt),
		ErrorMessage: orNull(r.ErrorMessage), Health: orNull[api.RestreamHealth](nil),
	}
	if s.areas.Restreams.HasHealth(r) {
		out.Health = orNull(&api.RestreamHealth{
			BitrateKbps: int(r.BitrateKbps), DroppedFrames: r.DroppedFrames, Reconnects: r.Reconnects, LastError: orNull(r.LastError),
			ConnectedAt: timeOrNull(r.ConnectedAt), LostAt: timeOrNull(r.LostAt),
		})
	}
	return out
}
