package handlers

import (
	"context"
	"encoding/json"
	"fmt"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/etag"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/setting"
)

// ListAdminSettings lists the platform's settings.
func (s *Server) ListAdminSettings(ctx context.Context, _ api.ListAdminSettingsRequestObject) (api.ListAdminSettingsResponseObject, error) {
	items, err := s.listSettings(ctx, setting.Platform)
	return api.ListAdminSettings200JSONResponse{Items: items}, err
}

// GetAdminSetting returns one of the platform's settings.
func (s *Server) GetAdminSetting(ctx context.Context, r api.GetAdminSettingRequestObject) (api.GetAdminSettingResponseObject, error) {
	v, err := s.areas.Settings.GetAdminSetting(ctx, setting.Platform, r.Key)
	if err != nil {
		return nil, err
	}
	out, tag, err := withTag(v)
	return api.GetAdminSetting200JSONResponse{Body: out, Headers: api.GetAdminSetting200ResponseHeaders{ETag: &tag}}, err
}

// UpdateAdminSetting changes one of the platform's settings.
func (s *Server) UpdateAdminSetting(
	ctx context.Context, r api.UpdateAdminSettingRequestObject,
) (api.UpdateAdminSettingResponseObject, error) {
	v, err := s.updateSetting(ctx, setting.Platform, r.Key, *r.Body, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	out, tag, err := withTag(v)
	return api.UpdateAdminSetting200JSONResponse{Body: out, Headers: api.UpdateAdminSetting200ResponseHeaders{ETag: &tag}}, err
}

// ListAdminSystemSettings lists the servers' settings.
func (s *Server) ListAdminSystemSettings(
	ctx context.Context, _ api.ListAdminSystemSettingsRequestObject,
) (api.ListAdminSystemSettingsResponseObject, error) {
	items, err := s.listSettings(ctx, setting.System)
	return api.ListAdminSystemSettings200JSONResponse{Items: items}, err
}

// GetAdminSystemSetting returns one of the servers' settings.
func (s *Server) GetAdminSystemSetting(
	ctx context.Context, r api.GetAdminSystemSettingRequestObject,
) (api.GetAdminSystemSettingResponseObject, error) {
	v, err := s.areas.Settings.GetAdminSetting(ctx, setting.System, r.Key)
	if err != nil {
		return nil, err
	}
	out, tag, err := withTag(v)
	return api.GetAdminSystemSetting200JSONResponse{Body: out, Headers: api.GetAdminSystemSetting200ResponseHeaders{ETag: &tag}}, err
}

// UpdateAdminSystemSetting changes one of the servers' settings.
func (s *Server) UpdateAdminSystemSetting(
	ctx context.Context, r api.UpdateAdminSystemSettingRequestObject,
) (api.UpdateAdminSystemSettingResponseObject, error) {
	v, err := s.updateSetting(ctx, setting.System, r.Key, *r.Body, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	out, tag, err := withTag(v)
	return api.UpdateAdminSystemSetting200JSONResponse{Body: out, Headers: api.UpdateAdminSystemSetting200ResponseHeaders{ETag: &tag}}, err
}

func (s *Server) listSettings(ctx context.Context, kind setting.Kind) ([]api.PlatformSetting, error) {
	views, err := s.areas.Settings.ListAdminSettings(ctx, kind)
	if err != nil {
		return nil, err
	}
	items := make([]api.PlatformSetting, len(views))
	for i, v := range views {
		if items[i], err = toSetting(v); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (s *Server) updateSetting(
	ctx context.Context, kind setting.Kind, key string, body api.PlatformSettingInput, match etag.Match,
) (setting.View, error) {
	value, err := json.Marshal(body.Value)
	if err != nil {
		return setting.View{}, problem.BadField("value", "is no JSON value")
	}
	return s.areas.Settings.UpdateAdminSetting(ctx, request.Admin(ctx).Actor(), kind, key, setting.Change{
		Value: value, Reason: orEmpty(body.Reason), IfMatch: match,
	})
}

// withTag converts a setting, and returns its ETag.
func withTag(v setting.View) (out api.PlatformSetting, tag string, err error) {
	if out, err = toSetting(v); err != nil {
		return out, "", err
	}
	tag, err = etag.Of(v)
	return out, tag, err
}

func toSetting(v setting.View) (api.PlatformSetting, error) {
	out := api.PlatformSetting{
		Key: v.Key, Description: v.Description, UpdatedAt: timeOrNull(v.UpdatedAt), UpdatedBy: orNull(v.UpdatedBy),
	}
	err := json.Unmarshal(v.Value, &out.Value)
	if err == nil {
		err = json.Unmarshal(v.Default, &out.DefaultValue)
	}
	if err != nil {
		return out, fmt.Errorf("read setting %s: %w", v.Key, err)
	}
	return out, nil
}
