package account

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

const (
	// keepNetworks is how long a network stays known after the last login from it.
	keepNetworks = 90 * 24 * time.Hour
	// networkGrain is the minimum time between two writes of the last login's time.
	networkGrain = 24 * time.Hour
)

// knowsNetwork reports whether a login with this e-mail address came from this
// network within 90 days. network is any text that identifies the network.
func (s *Service) knowsNetwork(ctx context.Context, email, network string) (bool, error) {
	known, err := db.New(s.pool).IsKnownNetwork(ctx, db.IsKnownNetworkParams{
		PairHashes: s.hashNetwork(email, network), Since: s.now().Add(-keepNetworks),
	})
	if err != nil {
		return false, fmt.Errorf("look up known network: %w", err)
	}
	return known, nil
}

// rememberNetwork records a login with this e-mail address from this network.
func (s *Service) rememberNetwork(ctx context.Context, email, network string) error {
	now := s.now()
	err := db.New(s.pool).PutKnownNetwork(ctx, db.PutKnownNetworkParams{
		PairHash: s.hashNetwork(email, network)[0], Now: now, Stale: now.Add(-networkGrain),
	})
	if err != nil {
		return fmt.Errorf("put known network: %w", err)
	}
	return nil
}

// hashNetwork hashes the pair of address and network with each of the code keys.
func (s *Service) hashNetwork(email, network string) [][]byte {
	hashes := make([][]byte, len(s.codeKeys))
	for i, key := range s.codeKeys {
		hashes[i] = keyed(key, "network/"+CanonicalEmail(email)+"\n"+network)
	}
	return hashes
}
