package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/push"
	"showfloor/internal/outflow/push/fcm"
)

// GetPushCredentials shows the status of a project's credentials.
func (s *Server) GetPushCredentials(
	ctx context.Context, r api.GetPushCredentialsRequestObject,
) (api.GetPushCredentialsResponseObject, error) {
	row, err := s.areas.Pushes.GetPushCredentials(ctx, request.Caller(ctx), r.ProjectID)
	if err != nil {
		return nil, err
	}
	return api.GetPushCredentials200JSONResponse(toPushCredentials(row)), nil
}

// SetIosPushCredentials stores the key for iOS devices.
func (s *Server) SetIosPushCredentials(
	ctx context.Context, r api.SetIosPushCredentialsRequestObject,
) (api.SetIosPushCredentialsResponseObject, error) {
	row, err := s.areas.Pushes.SetIosPushCredentials(ctx, request.Caller(ctx), r.ProjectID, push.IosInput{
		Enabled: r.Body.IosPushEnabled, TeamID: r.Body.IosPushTeamID, KeyID: r.Body.IosPushKeyID, BundleID: r.Body.IosPushBundleID,
		PrivateKey: r.Body.IosPushPrivateKey, Production: r.Body.IosPushProduction,
	})
	if err != nil {
		return nil, err
	}
	return api.SetIosPushCredentials201JSONResponse(toPushCredentials(row)), nil
}

// SetCloudPushCredentials stores the service account for Android devices and browsers.
func (s *Server) SetCloudPushCredentials(
	ctx context.Context, r api.SetCloudPushCredentialsRequestObject,
) (api.SetCloudPushCredentialsResponseObject, error) {
	in := push.CloudInput{Enabled: r.Body.CloudPushEnabled}
	if a := r.Body.CloudPushServiceAccount; a != nil {
		in.Account = &fcm.Account{ProjectID: *a.ProjectID, PrivateKey: *a.PrivateKey, ClientEmail: *a.ClientEmail} // required
		if a.PrivateKeyID != nil {
			in.Account.PrivateKeyID = *a.PrivateKeyID
		}
		if a.TokenURI != nil {
			in.TokenURI = *a.TokenURI
		}
	}
	row, err := s.areas.Pushes.SetCloudPushCredentials(ctx, request.Caller(ctx), r.ProjectID, in)
	if err != nil {
		return nil, err
	}
	return api.SetCloudPushCredentials201JSONResponse(toPushCredentials(row)), nil
}

// TestPushCredentials sends a message to one device.
func (s *Server) TestPushCredentials(
	ctx context.Context, r api.TestPushCredentialsRequestObject,
) (api.TestPushCredentialsResponseObject, error) {
	t, err := s.areas.Pushes.TestPushCredentials(ctx, request.Caller(ctx), r.ProjectID, r.Body.Token)
	if err != nil {
		return nil, err
	}
	var status *int32
	if t.Answer.Status != 0 {
		status = new(int32(t.Answer.Status))
	}
	return api.TestPushCredentials201JSONResponse{
		Provider: api.PushProvider(t.Provider), Outcome: api.PushOutcome(t.Answer.Outcome), Status: intOrNull(status),
		Reason: textOrNull(t.Answer.Reason), Message: t.Answer.Words(),
	}, nil
}

// RegisterPushDevice stores a device, active.
func (s *Server) RegisterPushDevice(
	ctx context.Context, r api.RegisterPushDeviceRequestObject,
) (api.RegisterPushDeviceResponseObject, error) {
	in := push.DeviceInput{
		UserID: r.Body.UserID, ProjectID: r.Body.ProjectID, Platform: string(r.Body.Platform), Kind: push.Alert, Token: r.Body.Token,
		AppVersion: orNil(r.Body.AppVersion), OSVersion: orNil(r.Body.OsVersion), Locale: orNil(r.Body.Locale),
	}
	if r.Body.Kind != nil {
		in.Kind = string(*r.Body.Kind)
	}
	device, err := s.areas.Pushes.RegisterPushDevice(ctx, request.Caller(ctx), in)
	if err != nil {
		return nil, err
	}
	return api.RegisterPushDevice201JSONResponse(toPushDevice(device)), nil
}

// DeactivatePushDevice stops pushes to a device.
func (s *Server) DeactivatePushDevice(
	ctx context.Context, r api.DeactivatePushDeviceRequestObject,
) (api.DeactivatePushDeviceResponseObject, error) {
	device, err := s.areas.Pushes.DeactivatePushDevice(ctx, request.Caller(ctx), r.Token)
	if err != nil {
		return nil, err
	}
	return api.DeactivatePushDevice200JSONResponse(toPushDevice(device)), nil
}

// NotifyUsers sends a message to the devices of users.
func (s *Server) NotifyUsers(ctx context.Context, r api.NotifyUsersRequestObject) (api.NotifyUsersResponseObject, error) {
	in := push.Notice{ProjectID: r.Body.ProjectID, UserIDs: r.Body.UserIds, Title: r.Body.Title, Body: r.Body.Body}
	if r.Body.Data != nil {
		in.Data = *r.Body.Data
	}
	result, err := s.areas.Pushes.NotifyUsers(ctx, request.Caller(ctx), in)
	if err != nil {
		return nil, err
	}
	return api.NotifyUsers201JSONResponse{
		NotificationID: result.NotificationID, Attempted: int(result.Attempted), Delivered: int(result.Delivered), Pending: int(result.Pending),
	}, nil
}

// ListPushNotifications lists notifications with their outcomes.
func (s *Server) ListPushNotifications(
	ctx context.Context, r api.ListPushNotificationsRequestObject,
) (api.ListPushNotificationsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Notification)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Pushes.ListPushNotifications(ctx, request.Caller(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(r db.ListPushNotificationsRow) string { return r.PushNotification.ID })
	return api.ListPushNotifications200JSONResponse{
		Body: each(rows, toPushNotification), Headers: api.ListPushNotifications200ResponseHeaders{Link: link},
	}, nil
}

func toPushCredentials(c db.PushCredential) api.PushCredentials {
	return api.PushCredentials{
		IosPushEnabled: c.IosEnabled, IosPushConfigured: push.IosConfigured(c), IosPushBundleID: orNull(c.IosBundleID),
		IosPushProduction: c.IosProduction, CloudPushEnabled: c.CloudEnabled, CloudPushConfigured: c.CloudAccount != nil,
		CloudPushProjectID: orNull(c.CloudProjectID),
	}
}

func toPushDevice(d db.PushDevice) api.PushDevice {
	return api.PushDevice{
		UserID: d.UserID, Platform: api.PushPlatform(d.Platform), Kind: api.PushDeviceKind(d.Kind), Token: d.Token,
		AppVersion: orNull(d.AppVersion), OsVersion: orNull(d.OsVersion), Locale: orNull(d.Locale), ProjectID: d.ProjectID,
		RegisteredAt: timestamp.From(d.RegisteredAt), LastSeenAt: timestamp.From(d.LastSeenAt), Active: d.Active,
	}
}

func toPushNotification(r db.ListPushNotificationsRow) api.PushNotification {
	n := r.PushNotification
	return api.PushNotification{
		ID: n.ID, ProjectID: n.ProjectID, Title: n.Title, Body: n.Body, Users: int(n.Users), Attempted: int(n.Attempted), Pending: int(r.Waiting),
		Outcomes: api.PushOutcomes{
			Delivered: int(r.Delivered), Stale: int(r.Stale), Throttled: int(r.Throttled), CredentialFaults: int(r.CredentialFaults),
			Rejected: int(r.Rejected), Unreachable: int(r.Unreachable), Expired: int(r.Expired),
		},
		LastError: textOrNull(r.LastError), CreatedAt: timestamp.From(n.CreatedAt),
	}
}
