package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// rig is a tenant on a server.
type rig struct {
	*apitest.Server

	owner  *apitest.Caller
	caller tenancy.Caller
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	return &rig{s, owner, tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}}
}

func (r *rig) tx(t *testing.T, f func(tx pgx.Tx) error) error {
	t.Helper()
	return postgres.InTx(t.Context(), r.Pool, f)
}

func (r *rig) row(t *testing.T, p api.Product) db.Product {
	t.Helper()
	row, err := r.Catalog.GetProduct(t.Context(), r.caller, p.ID)
	require.NoError(t, err)
	return row
}

// inventoryEvent is an inventory event, with the fields that the tests check.
type inventoryEvent struct {
	event   string
	stock   float64
	orderID any
}

// inventoryEvents lists the inventory events of a product in order.
func (r *rig) inventoryEvents(t *testing.T, p api.Product) (list []inventoryEvent) {
	t.Helper()
	rows, err := db.New(r.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	for _, e := range rows {
		if e.Subject != p.ID || e.Event == "product.upserted" {
			continue
		}
		var envelope struct{ Data map[string]any }
		require.NoError(t, json.Unmarshal(e.Payload, &envelope))
		stock, _ := envelope.Data["stock"].(float64)
		list = append(list, inventoryEvent{e.Event, stock, envelope.Data["orderId"]})
	}
	return list
}
