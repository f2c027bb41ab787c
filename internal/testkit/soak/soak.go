// Package soak sets how often tests kill servers at random instants: some times in `make test`, and about three times as often in
// `make soak`, which sets SHOWFLOOR_SOAK.
package soak

import "os"

// Times returns many if SHOWFLOOR_SOAK is set, else few.
func Times(few, many int) int {
	if os.Getenv("SHOWFLOOR_SOAK") != "" {
		return many
	}
	return few
}
