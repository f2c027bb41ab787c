package push_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/pushtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// rig is a tenant with push credentials for the project "launch".
type rig struct {
	*apitest.Server

	providers *pushtest.Providers
	owner     *apitest.Caller
}

func newRig(t *testing.T, o apitest.Options) *rig {
	t.Helper()
	p := pushtest.New(t)
	o.Push = p.Addresses()
	s := apitest.New(t, o)
	owner := s.Register(t)
	owner.SetPushCredentials(t, "launch")
	return &rig{s, p, owner}
}

// device registers a device; its token is its name.
func (r *rig) device(t *testing.T, userID, platform, token string) {
	t.Helper()
	r.owner.Device(t, userID, platform, token, nil)
}

func (r *rig) notify(t *testing.T, users ...string) (got api.PushResult) {
	t.Helper()
	body := map[string]any{"projectId": "launch", "userIds": users, "title": "We are live", "body": "Come in", "data": map[string]string{"screen": "stream"}}
	r.owner.Call(t, "POST", "/v1/me/push/notify", body).Into(t, 201, &got)
	return got
}

func (r *rig) notifications(t *testing.T) (list []api.PushNotification) {
	t.Helper()
	r.owner.Call(t, "GET", "/v1/me/push/notifications", nil).Into(t, 200, &list)
	return list
}

// active reports whether a device is active.
func (r *rig) active(t *testing.T, token string) (active bool) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT active FROM push_devices WHERE tenant_id = $1 AND token = $2", r.owner.TenantID, token).Scan(&active))
	return active
}
