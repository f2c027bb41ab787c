package handlers

import (
	"context"
	"net/url"
	"strings"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/console/firstparty"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
)

// ListFirstPartyApps lists the platform's own applications.
func (s *Server) ListFirstPartyApps(
	ctx context.Context, r api.ListFirstPartyAppsRequestObject,
) (api.ListFirstPartyAppsResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	apps, total, err := s.areas.FirstParty.ListFirstPartyApps(ctx, page.Size, (page.Number-1)*page.Size)
	if err != nil {
		return nil, err
	}
	return api.ListFirstPartyApps200JSONResponse{
		Items: each(apps, toFirstPartyApp), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// CreateFirstPartyApp creates an app. Only this answer contains its first key.
func (s *Server) CreateFirstPartyApp(
	ctx context.Context, r api.CreateFirstPartyAppRequestObject,
) (api.CreateFirstPartyAppResponseObject, error) {
	app, row, key, err := s.areas.FirstParty.CreateFirstPartyApp(ctx, request.Admin(ctx), firstparty.Input{
		Name: r.Body.Name, Description: r.Body.Description, KeyName: *r.Body.KeyName, KeyScopes: toScopes(r.Body.KeyScopes),
	})
	if err != nil {
		return nil, err
	}
	return api.CreateFirstPartyApp201JSONResponse{App: toFirstPartyApp(app), APIKey: toWholeKey(row, key)}, nil
}

// detailSessions is how many sessions an app's detail has.
const detailSessions = 20

// GetFirstPartyApp returns an app with its figures, keys, webhooks and sessions.
func (s *Server) GetFirstPartyApp(ctx context.Context, r api.GetFirstPartyAppRequestObject) (api.GetFirstPartyAppResponseObject, error) {
	d, err := s.areas.FirstParty.GetFirstPartyApp(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	as := tenancy.Caller{TenantID: r.ID}
	sessions, err := s.areas.Sessions.ListSessions(ctx, as, nil, nil, detailSessions)
	if err != nil {
		return nil, err
	}
	return api.GetFirstPartyApp200JSONResponse{
		App: toFirstPartyApp(d.App), Stats: toFirstPartyAppStats(d.Stats), Keys: each(d.Keys, toAPIKey),
		Webhooks:       each(d.Webhooks, func(w firstparty.Webhook) api.AdminWebhookEndpoint { return toAppWebhook(d.App, w) }),
		RecentSessions: each(sessions, toSession(as)),
	}, nil
}

// CreateFirstPartyAppKey creates another API key. Only this answer contains it.
func (s *Server) CreateFirstPartyAppKey(
	ctx context.Context, r api.CreateFirstPartyAppKeyRequestObject,
) (api.CreateFirstPartyAppKeyResponseObject, error) {
	row, key, err := s.areas.FirstParty.CreateFirstPartyAppKey(ctx, request.Admin(ctx), r.ID, toAPIKeyInput(*r.Body))
	if err != nil {
		return nil, err
	}
	return api.CreateFirstPartyAppKey201JSONResponse(toWholeKey(row, key)), nil
}

// RevokeFirstPartyAppKey revokes a key.
func (s *Server) RevokeFirstPartyAppKey(
	ctx context.Context, r api.RevokeFirstPartyAppKeyRequestObject,
) (api.RevokeFirstPartyAppKeyResponseObject, error) {
	row, err := s.areas.FirstParty.RevokeFirstPartyAppKey(ctx, request.Admin(ctx), r.ID, r.KeyID)
	if err != nil {
		return nil, err
	}
	return api.RevokeFirstPartyAppKey200JSONResponse(toAPIKey(row)), nil
}

// ImpersonateFirstPartyApp makes a token with which the admin acts as the app.
func (s *Server) ImpersonateFirstPartyApp(
	ctx context.Context, r api.ImpersonateFirstPartyAppRequestObject,
) (api.ImpersonateFirstPartyAppResponseObject, error) {
	admin := request.Admin(ctx)
	i, err := s.areas.FirstParty.ImpersonateFirstPartyApp(ctx, admin, r.ID)
	if err != nil {
		return nil, err
	}
	return api.ImpersonateFirstPartyApp201JSONResponse{
		Token: i.Token, ExpiresAt: timestamp.From(i.ExpiresAt), Tenant: toTenant(i.Tenant), ImpersonatorID: admin.AdminID,
	}, nil
}

func toFirstPartyApp(a firstparty.App) api.FirstPartyApp {
	return api.FirstPartyApp{
		ID: a.ID, Name: a.Name, Description: orNull(a.Description), Status: api.TenantStatus(a.Status), KeyCount: int(a.Keys),
		LastUsedAt: timeOrNull(a.LastUsedAt), CreatedBy: a.CreatedBy, CreatedAt: timestamp.From(a.CreatedAt),
		UpdatedAt: timestamp.From(a.UpdatedAt),
	}
}

func toFirstPartyAppStats(s firstparty.Stats) api.FirstPartyAppStats {
	const minute = 60
	return api.FirstPartyAppStats{
		Users: int(s.Users), Streams: int(s.Streams), LiveStreams: int(s.LiveStreams), Sessions: int(s.Sessions),
		LiveSessions: int(s.LiveSessions), Recordings: int(s.Recordings), APICalls: s.APICalls,
		MinutesLive: float32(s.SecondsLive) / minute, MinutesWatched: float32(s.SecondsWatched) / minute,
		ParticipantMinutes: float32(s.SecondsParticipants) / minute,
	}
}

func toAppWebhook(app firstparty.App, w firstparty.Webhook) api.AdminWebhookEndpoint {
	return api.AdminWebhookEndpoint{
		ID: w.ID, TenantID: w.TenantID, TenantName: app.Name, URL: maskURL(w.URL),
		Events: each(w.Events, func(name string) api.EventName { return api.EventName(name) }),
		Status: api.WebhookEndpointStatus(w.Status), DisabledReason: orNull(w.DisabledReason), FailingSince: timeOrNull(w.FailingSince),
		Deliveries: int(w.Deliveries), FailedDeliveries: int(w.Failed), LastSuccessAt: timeOrNull(w.LastSuccessAt),
		CreatedAt: timestamp.From(w.CreatedAt), UpdatedAt: timestamp.From(w.UpdatedAt),
	}
}

// maskURL replaces the password and the query's values in a URL by ***, since tenants put secrets there.
func maskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "***"
	}
	user := ""
	if u.User != nil {
		u.User, user = nil, "***@"
	}
	var query []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if name, _, valued := strings.Cut(pair, "="); valued {
			query = append(query, name+"=***")
		} else if pair != "" {
			query = append(query, "***")
		}
	}
	u.RawQuery, u.Fragment, u.RawFragment = strings.Join(query, "&"), "", ""
	return strings.Replace(u.String(), "://", "://"+user, 1)
}

func toWholeKey(row db.APIKey, key string) api.APIKey {
	out := toAPIKey(row)
	out.Key = &key
	return out
}

func toAPIKeyInput(in api.APIKeyInput) account.APIKeyInput {
	return account.APIKeyInput{Name: in.Name, Scopes: toScopes(in.Scopes), ExpiresAt: timeOrNil(in.ExpiresAt)}
}

// toScopes converts scopes; nil stays nil.
func toScopes(given []api.Scope) []tenancy.Scope {
	if given == nil {
		return nil
	}
	return each(given, func(s api.Scope) tenancy.Scope { return tenancy.Scope(s) })
}
