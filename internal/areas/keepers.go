package areas

import (
	"context"
	"reflect"
)

// Keeper is an area whose rows are kept for a time.
type Keeper interface {
	// DeleteOld deletes those that are older. It may run twice at once.
	DeleteOld(ctx context.Context) error
}

// Keepers finds the areas that delete what is older than they keep, in the order
// of their fields. It looks instead of being told, so that no area is forgotten.
func (a *Areas) Keepers() []Keeper {
	var keepers []Keeper
	for _, field := range reflect.ValueOf(a).Elem().Fields() {
		if k, keeps := reflect.TypeAssert[Keeper](field); keeps {
			keepers = append(keepers, k)
		}
	}
	return keepers
}
