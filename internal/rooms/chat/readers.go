package chat

import (
	"context"
	"fmt"

	"showfloor/gen/db"
)

// CheckChannel returns a problem unless the tenant has a stream, session or
// channel with this id.
func (s *Service) CheckChannel(ctx context.Context, tenantID, channelID string) error {
	_, err := find(ctx, db.New(s.config.Pool), channelKey{tenantID, channelID})
	return err
}

// ListBanned lists which of the users are banned from a channel. A banned user may
// not read its messages either.
func (s *Service) ListBanned(ctx context.Context, tenantID, channelID string, userIDs []string) ([]string, error) {
	banned, err := db.New(s.config.Pool).ListBannedUsers(ctx, db.ListBannedUsersParams{
		TenantID: tenantID, ChannelID: channelID, UserIds: userIDs,
	})
	if err != nil {
		return nil, fmt.Errorf("list banned users: %w", err)
	}
	return banned, nil
}
