package handlers

import (
	"context"

	"showfloor/internal/areas"
	"showfloor/internal/console/platform"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/signing"
)

// credentials asks the areas whose credential a request has: it is a pipeline.Credentials.
type credentials struct{ areas *areas.Areas }

// Tenant implements pipeline.Credentials.
func (c credentials) Tenant(ctx context.Context, token string) (tenancy.Caller, error) {
	return c.areas.Accounts.Authenticate(ctx, token)
}

// TenantEndingImpersonation implements pipeline.Credentials.
func (c credentials) TenantEndingImpersonation(ctx context.Context, token string) (tenancy.Caller, error) {
	return c.areas.Accounts.AuthenticateEndingImpersonation(ctx, token)
}

// Admin implements pipeline.Credentials.
func (c credentials) Admin(ctx context.Context, token string) (platform.Caller, error) {
	return c.areas.Console.Authenticate(ctx, token)
}

// Participant implements pipeline.Credentials.
func (c credentials) Participant(ctx context.Context, token string) (tenancy.Caller, error) {
	return c.areas.Sessions.AuthenticateCaller(ctx, token)
}

// IsParticipant implements pipeline.Credentials.
func (credentials) IsParticipant(token string) bool {
	return signing.TypeOf(token) == session.TokenType
}

// Recognize implements pipeline.Credentials.
func (c credentials) Recognize(token string) (issued, valid bool) {
	recognized := c.areas.Accounts.Recognize(token)
	return recognized != account.Unrecognized, recognized == account.RecentlyValid
}
