package stream

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// AcceptedKey is a stream key that encoders of a network published with.
type AcceptedKey struct {
	Network string    // the encoders' IPv4 address, or the first address of their IPv6 /64 network
	Hash    []byte    // SHA-256 of the key; the stream's newest one if it was rotated since
	UsedAt  time.Time // when the encoder's last connection ended; now for an open one
}

// AcceptedKeys returns the keys that encoders published with over RTMP to any
// server within the last period, the most recently used first. It has one entry
// per network and key, at most perNetwork for each network, and at most limit in
// total.
func (s *Service) AcceptedKeys(ctx context.Context, period time.Duration, perNetwork, limit int32) ([]AcceptedKey, error) {
	now := s.config.Now()
	rows, err := db.New(s.config.Pool).ListAcceptedKeys(ctx, db.ListAcceptedKeysParams{
		Now: now, Since: now.Add(-period), PerNetwork: perNetwork, MaxRows: limit,
	})
	if err != nil {
		return nil, fmt.Errorf("list accepted stream keys: %w", err)
	}
	keys := make([]AcceptedKey, len(rows))
	for i, row := range rows {
		keys[i] = AcceptedKey{Network: row.Network, Hash: row.KeyHash, UsedAt: row.UsedAt}
	}
	return keys, nil
}
