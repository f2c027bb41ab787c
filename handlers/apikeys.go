package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
)

// ListAPIKeys lists API keys without their secrets.
func (s *Server) ListAPIKeys(ctx context.Context, r api.ListAPIKeysRequestObject) (api.ListAPIKeysResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.APIKey)
	if err != nil {
		return nil, err
	}
	rows, err := s.areas.Accounts.ListAPIKeys(ctx, request.Caller(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(k db.APIKey) string { return k.ID })
	return api.ListAPIKeys200JSONResponse{Body: each(rows, toAPIKey), Headers: api.ListAPIKeys200ResponseHeaders{Link: link}}, nil
}

// CreateAPIKey creates a key. Only this answer contains the secret.
func (s *Server) CreateAPIKey(ctx context.Context, r api.CreateAPIKeyRequestObject) (api.CreateAPIKeyResponseObject, error) {
	row, key, err := s.areas.Accounts.CreateAPIKey(ctx, request.Caller(ctx), toAPIKeyInput(*r.Body))
	if err != nil {
		return nil, err
	}
	return api.CreateAPIKey201JSONResponse(toWholeKey(row, key)), nil
}

// RevokeAPIKey revokes a key.
func (s *Server) RevokeAPIKey(ctx context.Context, r api.RevokeAPIKeyRequestObject) (api.RevokeAPIKeyResponseObject, error) {
	row, err := s.areas.Accounts.RevokeAPIKey(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.RevokeAPIKey200JSONResponse(toAPIKey(row)), nil
}

func toAPIKey(k db.APIKey) api.APIKey {
	out := api.APIKey{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Last4: k.Last4, Scopes: make([]api.Scope, len(k.Scopes)),
		ExpiresAt: timeOrNull(k.ExpiresAt), LastUsedAt: timeOrNull(k.LastUsedAt), RevokedAt: timeOrNull(k.RevokedAt),
		CreatedAt: timestamp.From(k.CreatedAt),
	}
	for i, scope := range k.Scopes {
		out.Scopes[i] = api.Scope(scope)
	}
	return out
}
