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

// Keepers returns the areas that delete old rows, by the names of their fields in
// Areas. It looks at all fields, so that no area is forgotten.
func (a *Areas) Keepers() map[string]Keeper {
	keepers := map[string]Keeper{}
	for field, value := range reflect.ValueOf(a).Elem().Fields() {
		if k, keeps := reflect.TypeAssert[Keeper](value); keeps {
			keepers[field.Name] = k
		}
	}
	return keepers
}
