package webhook_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// rig is a tenant on a server whose deliveries advance only when the test calls
// Deliver.
type rig struct {
	*apitest.Server

	owner *apitest.Caller
}

func newRig(t *testing.T, o apitest.Options) *rig {
	t.Helper()
	s := apitest.New(t, o)
	return &rig{s, s.Register(t)}
}

// emit emits an event and returns its deliveries, in the endpoints' order.
func (r *rig) emit(t *testing.T, name, subject string) []string {
	t.Helper()
	before := r.deliveries(t)
	require.NoError(t, postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		return r.Events.EmitTx(t.Context(), tx, event.Event{
			TenantID: r.owner.TenantID, Name: name, Subject: subject, Data: apitest.EventData(t, name, map[string]any{"streamId": subject}),
		})
	}))
	r.FanOut(t, r.owner.TenantID)
	return r.deliveries(t)[len(before):]
}

func (r *rig) deliveries(t *testing.T) []string {
	t.Helper()
	rows, err := r.Pool.Query(t.Context(), "SELECT id FROM webhook_deliveries WHERE tenant_id = $1 ORDER BY id", r.owner.TenantID)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return ids
}

// caller is the owner as a Caller.
func (r *rig) caller() tenancy.Caller {
	return tenancy.Caller{TenantID: r.owner.TenantID, UserID: r.owner.UserID, Role: tenancy.Owner, Scopes: tenancy.Owner.Scopes()}
}

// deliver advances a delivery by one step.
func (r *rig) deliver(t *testing.T, deliveryID string) time.Time {
	t.Helper()
	again, err := r.Webhooks.Deliver(t.Context(), deliveryID)
	require.NoError(t, err)
	return again
}

// shown is the delivery in the API.
func (r *rig) shown(t *testing.T, hook api.WebhookEndpoint, deliveryID string) api.WebhookDelivery {
	t.Helper()
	var list []api.WebhookDelivery
	r.owner.Call(t, "GET", "/v1/me/webhooks/"+hook.ID+"/deliveries?limit=200", nil).Into(t, 200, &list)
	for _, d := range list {
		if d.ID == deliveryID {
			return d
		}
	}
	t.Fatalf("%s isn't listed", deliveryID)
	return api.WebhookDelivery{}
}

// jobs counts the open delivery jobs of this delivery.
func (r *rig) jobs(t *testing.T, deliveryID string) int {
	t.Helper()
	var n int
	require.NoError(t, r.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM river_job WHERE kind = 'webhook_deliver' AND args->>'deliveryId' = $1 AND state <> 'completed'", deliveryID).Scan(&n))
	return n
}

// shared returns the deliveries of each job for several of them.
func (r *rig) shared(t *testing.T) [][]string {
	t.Helper()
	rows, err := r.Pool.Query(t.Context(), `SELECT ARRAY(SELECT jsonb_array_elements_text(args->'deliveryIds')) FROM river_job
		WHERE kind = 'webhook_deliver_batch' AND args->'deliveryIds'->>0 = ANY ($1) ORDER BY id`, r.deliveries(t))
	require.NoError(t, err)
	shared, err := pgx.CollectRows(rows, pgx.RowTo[[]string])
	require.NoError(t, err)
	return shared
}
