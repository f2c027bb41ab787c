package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// TestUpdatesThatChangeNothingWriteNothing checks that such updates write no audit entry, which
// would repeat the whole metadata, and don't change updatedAt.
func TestUpdatesThatChangeNothingWriteNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.Seller(t)
	pairs := map[string]any{"metadata": map[string]any{"desk": "7", "a": "b"}}
	stream, hook := owner.Stream(t, pairs), owner.Webhook(t, "https://example.com/hook", "stream.started")
	product := owner.Product(t, nil)
	sale := owner.Sale(t, stream.ID, product.ID)
	order, session := "/v1/me/commerce/orders/"+sale.ID, "/v1/me/sessions/"+owner.Session(t, pairs).ID
	owner.Call(t, "PATCH", order, pairs).Is(t, 200)
	item := map[string]any{"externalId": product.ExternalID, "name": product.Name, "priceCents": product.PriceCents}

	before := auditActions(t, s, owner.TenantID, "")
	for path, bodies := range map[string][]any{
		"/v1/me/streams/" + stream.ID: {map[string]any{}, pairs, map[string]any{"name": stream.Name, "metadata": map[string]any{"gone": ""}}},
		order:                         {map[string]any{}, pairs, map[string]any{"metadata": map[string]any{"desk": "7"}}},
		session:                       {map[string]any{}, pairs},
		"/v1/me/webhooks/" + hook.ID:  {map[string]any{}, map[string]any{"url": hook.URL, "events": hook.Events, "status": "active"}},
	} {
		for _, body := range bodies {
			s.Clock.Advance(time.Second)
			owner.Call(t, "PATCH", path, body).Is(t, 200)
		}
	}
	owner.Call(t, "POST", productsPath, item).Is(t, 201)
	owner.Call(t, "POST", "/v1/me/catalog/sync", map[string]any{"items": []any{item}}).Is(t, 201)
	require.Equal(t, before, auditActions(t, s, owner.TenantID, ""))
	var shown api.Stream
	owner.Call(t, "GET", "/v1/me/streams/"+stream.ID, nil).Into(t, 200, &shown)
	require.Equal(t, stream.UpdatedAt, shown.UpdatedAt)

	owner.Call(t, "PATCH", "/v1/me/streams/"+stream.ID, map[string]any{"name": "Later"}).Is(t, 200)
	owner.Call(t, "PATCH", order, map[string]any{"metadata": map[string]any{"desk": ""}}).Is(t, 200)
	owner.Call(t, "PATCH", "/v1/me/webhooks/"+hook.ID, map[string]any{"events": []string{}}).Is(t, 200)
	item["metadata"] = map[string]any{"shelf": "3"}
	owner.Call(t, "POST", productsPath, item).Is(t, 201)
	require.Equal(t, append(before, "stream.update", "order.update", "webhook.update", "product.upsert"), auditActions(t, s, owner.TenantID, ""))
}
