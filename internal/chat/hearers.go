package chat

import (
	"context"
	"fmt"

	"showfloor/gen/db"
)

// CheckChannel is a problem unless the tenant has a stream, session or channel with
// this id.
func (s *Service) CheckChannel(ctx context.Context, tenantID, channelID string) error {
	_, err := find(ctx, db.New(s.config.Pool), lane{tenantID, channelID})
	return err
}

// ListBanned lists those of the users who are banned from a channel: they don't
// hear what is said there either.
func (s *Service) ListBanned(ctx context.Context, tenantID, channelID string, userIDs []string) ([]string, error) {
	banned, err := db.New(s.config.Pool).ListBannedUsers(ctx, db.ListBannedUsersParams{
		TenantID: tenantID, ChannelID: channelID, UserIds: userIDs,
	})
	if err != nil {
		return nil, fmt.Errorf("list banned users: %w", err)
	}
	return banned, nil
}
