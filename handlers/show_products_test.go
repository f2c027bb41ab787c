package handlers_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/outflow/realtime"
	"showfloor/internal/streams/stream"
)

// TestViewersGetChangedProducts: changes of the catalog reach the viewers of the tenant's shows that are on air, and no other room.
func TestViewersGetChangedProducts(t *testing.T) {
	t.Parallel()
	s, owner := live(t)
	mug := owner.Product(t, map[string]any{"name": "Mug", "priceCents": 1000, "stock": 5})
	lamp := owner.Product(t, map[string]any{"name": "Lamp", "priceCents": 4000})
	whole, chosen := owner.Stream(t, nil), owner.Stream(t, map[string]any{"productIds": []string{lamp.ID}})
	owner.Stream(t, nil) // not on air
	publishFrom(t, s, whole, stream.SourceRTMP)
	publishFrom(t, s, chosen, stream.SourceRTMP)
	s.PublishProducts(t) // those from before
	c := hears(t, s, owner.Viewer(t, whole.ID, "bo", nil).Token, whole.ID)

	published := func() (rooms []string) {
		before := len(s.Published())
		s.PublishProducts(t)
		for _, p := range s.Published()[before:] {
			require.Equal(t, realtime.ProductsUpdated, p.Type)
			rooms = append(rooms, p.Room)
		}
		return rooms
	}
	next := func() []any {
		products, ok := c.NextType(t, realtime.ProductsUpdated).Data["products"].([]any)
		require.True(t, ok)
		return products
	}
	require.Empty(t, published(), "nothing has changed")
	change := map[string]any{"externalId": mug.ExternalID, "name": "Mug", "priceCents": 900, "stock": 4}
	owner.Product(t, change)
	require.Equal(t, []string{whole.ID}, published())
	changed, ok := next()[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, []any{mug.ID, 900.0, 4.0, true}, []any{changed["id"], changed["priceCents"], changed["remaining"], changed["active"]})
	owner.Product(t, change)
	require.Empty(t, published(), "the same again")

	owner.Call(t, "DELETE", productsPath+"/"+mug.ID, nil).Is(t, 200)
	require.Equal(t, []string{whole.ID}, published(), "an archived product has left the show, but not its viewers' pages")
	changed, ok = next()[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, false, changed["active"])
	owner.Product(t, map[string]any{"externalId": lamp.ExternalID, "name": "Tall lamp", "priceCents": 4000})
	require.Len(t, published(), 2)
	require.Len(t, next(), 1)

	var many []map[string]any
	for i := range 25 {
		many = append(many, map[string]any{"externalId": strconv.Itoa(i), "name": "One of many", "priceCents": 100})
	}
	owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": many}).Is(t, 201)
	require.Equal(t, []string{whole.ID}, published())
	require.Empty(t, next(), "viewers read the show")
	draft := map[string]any{"externalId": "draft", "name": "Not released", "priceCents": 100, "active": false}
	owner.Product(t, draft)
	draft["name"] = "Still not released"
	owner.Product(t, draft)
	require.Empty(t, published(), "products that buyers have never seen")
	other := s.Register(t)
	other.Product(t, map[string]any{"name": "Mug", "priceCents": 1000})
	require.Empty(t, published(), "another tenant's products")
}
