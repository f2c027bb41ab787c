package areas

import (
	"context"
	"reflect"
)

// Keeper is an area that deletes its old rows.
type Keeper interface {
	// DeleteOld deletes rows that have passed the area's retention time. Two
	// calls may run at the same time.
	DeleteOld(ctx context.Context) error
}

// Keepers returns the areas that delete old rows, by the names of their fields in
// Areas. It checks all fields, so that no area is forgotten.
func (a *Areas) Keepers() map[string]Keeper {
	keepers := map[string]Keeper{}
	for field, value := range reflect.ValueOf(a).Elem().Fields() {
		if k, keeps := reflect.TypeAssert[Keeper](value); keeps {
			keepers[field.Name] = k
		}
	}
	return keepers
}
