package handlers

import (
	"context"
	"encoding/json"
	"fmt"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/setting"
)

// ListAdminSettings lists the platform's settings.
func (s *Server) ListAdminSettings(ctx context.Context, _ api.ListAdminSettingsRequestObject) (api.ListAdminSettingsResponseObject, error) {
	views, err := s.areas.Settings.ListAdminSettings(ctx)
	if err != nil {
		return nil, err
	}
	out := api.ListAdminSettings200JSONResponse{Items: make([]api.PlatformSetting, len(views))}
	for i, v := range views {
		if out.Items[i], err = toSetting(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// UpdateAdminSetting changes one of the platform's settings.
func (s *Server) UpdateAdminSetting(
	ctx context.Context, r api.UpdateAdminSettingRequestObject,
) (api.UpdateAdminSettingResponseObject, error) {
	value, err := json.Marshal(r.Body.Value)
	if err != nil {
		return nil, problem.BadField("value", "is no JSON value")
	}
	v, err := s.areas.Settings.UpdateAdminSetting(ctx, request.Admin(ctx).Actor(), r.Key, value, orEmpty(r.Body.Reason))
	if err != nil {
		return nil, err
	}
	out, err := toSetting(v)
	return api.UpdateAdminSetting200JSONResponse(out), err
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
