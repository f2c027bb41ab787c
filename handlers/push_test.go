package handlers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/pushtest"
)

const (
	pushPath          = "/v1/me/push/"
	launchCredentials = pushPath + "projects/launch/credentials"
)

func TestPushCredentials(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	status := func(c *apitest.Caller) (got api.PushCredentials) {
		c.Call(t, "GET", launchCredentials, nil).Into(t, 200, &got)
		return got
	}
	require.Equal(t, api.PushCredentials{
		IosPushBundleID: status(owner).IosPushBundleID, CloudPushProjectID: status(owner).CloudPushProjectID,
	}, status(owner))
	require.True(t, status(owner).IosPushBundleID.IsNull())

	ios, cloud := pushtest.IosCredentials(t), pushtest.CloudCredentials(t)
	var got api.PushCredentials
	owner.Call(t, "POST", launchCredentials+"/ios-push", ios).Into(t, 201, &got)
	require.Equal(t, []any{true, true, true, false}, []any{got.IosPushEnabled, got.IosPushConfigured, got.IosPushProduction, got.CloudPushConfigured})
	require.Equal(t, "com.acme.shop", got.IosPushBundleID.MustGet())
	owner.Call(t, "POST", launchCredentials+"/cloud-push", cloud).Into(t, 201, &got)
	require.Equal(t, []any{true, true, true}, []any{got.IosPushEnabled, got.CloudPushEnabled, got.CloudPushConfigured})
	require.Equal(t, "acme-shop", got.CloudPushProjectID.MustGet())
	require.Equal(t, got, status(owner))

	// Absent fields keep their values.
	owner.Call(t, "POST", launchCredentials+"/ios-push", map[string]any{"iosPushEnabled": false}).Into(t, 201, &got)
	require.Equal(t, []any{false, true, true}, []any{got.IosPushEnabled, got.IosPushConfigured, got.IosPushProduction})
	owner.Call(t, "POST", launchCredentials+"/ios-push", map[string]any{"iosPushEnabled": true, "iosPushProduction": false}).Into(t, 201, &got)
	require.Equal(t, []any{true, false}, []any{got.IosPushEnabled, got.IosPushProduction})
	owner.Call(t, "POST", launchCredentials+"/cloud-push", map[string]any{"cloudPushEnabled": false}).Into(t, 201, &got)
	require.Equal(t, []any{false, true}, []any{got.CloudPushEnabled, got.CloudPushConfigured})

	other := s.Register(t)
	require.False(t, status(other).IosPushConfigured, "credentials are the tenant's")
	var stored string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT encode(ios_key, 'escape') || encode(cloud_account, 'escape') || (
		SELECT string_agg(a::text, '') FROM audit_entries a WHERE a.tenant_id = c.tenant_id) FROM push_credentials c WHERE tenant_id = $1`,
		owner.TenantID).Scan(&stored))
	require.Contains(t, stored, "push_credentials.ios")
	require.NotContains(t, stored, "PRIVATE KEY")
	require.NotContains(t, stored, "push@acme-shop")
}

func TestWrongPushCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	another, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(another)
	require.NoError(t, err)
	rsaKey := pushtest.ServiceKey(t)
	for name, key := range map[string]string{
		"no key": "key", "RSA": rsaKey, "P-384": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})),
		"cut off": pushtest.SigningKey(t)[:100],
	} {
		body := pushtest.IosCredentials(t)
		body["iosPushPrivateKey"] = key
		p := owner.Call(t, "POST", launchCredentials+"/ios-push", body).Problem(t, 400, "invalid_input")
		require.Equal(t, "iosPushPrivateKey", p.Errors[0].Field, name)
	}
	for _, field := range []string{"iosPushTeamId", "iosPushKeyId", "iosPushBundleId", "iosPushPrivateKey"} {
		body := pushtest.IosCredentials(t)
		delete(body, field)
		p := owner.Call(t, "POST", launchCredentials+"/ios-push", body).Problem(t, 400, "invalid_input")
		require.Equal(t, field, p.Errors[0].Field)
		body["iosPushEnabled"] = false
		owner.Call(t, "POST", pushPath+"projects/"+field+"/credentials/ios-push", body).Is(t, 201)
	}
	owner.Call(t, "POST", launchCredentials+"/cloud-push", map[string]any{"cloudPushEnabled": true}).Problem(t, 400, "invalid_input")
	for field, value := range map[string]string{"private_key": pushtest.SigningKey(t), "token_uri": "https://other.example/token"} {
		body := pushtest.CloudCredentials(t)
		body["cloudPushServiceAccount"].(map[string]any)[field] = value
		p := owner.Call(t, "POST", launchCredentials+"/cloud-push", body).Problem(t, 400, "invalid_input")
		require.Equal(t, "cloudPushServiceAccount."+field, p.Errors[0].Field)
	}
	for i := range 96 { // four are there
		owner.Call(t, "POST", fmt.Sprintf("%sprojects/p%d/credentials/ios-push", pushPath, i), map[string]any{"iosPushEnabled": false}).Is(t, 201)
	}
	owner.Call(t, "POST", launchCredentials+"/ios-push", map[string]any{"iosPushEnabled": false}).Problem(t, 403, "plan_limit")
}

func TestPushDevices(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	d := owner.Device(t, "ada", "ios", "token:1", map[string]any{"appVersion": "2.4.0", "osVersion": "19.2", "locale": "de-AT", "kind": "voip"})
	require.Equal(t, []any{"ada", "voip", "2.4.0", "19.2", "de-AT", true}, []any{
		d.UserID, string(d.Kind), d.AppVersion.MustGet(), d.OsVersion.MustGet(), d.Locale.MustGet(), d.Active,
	})
	s.Clock.Advance(time.Hour)
	moved := owner.Device(t, "ben", "ios", "token:1", map[string]any{"projectId": "second"})
	require.Equal(t, []any{"ben", "second", "alert", true}, []any{moved.UserID, moved.ProjectID, string(moved.Kind), moved.AppVersion.IsNull()})
	require.Equal(t, d.RegisteredAt, moved.RegisteredAt)
	require.Equal(t, time.Hour, moved.LastSeenAt.Sub(d.LastSeenAt.Time))

	other.Call(t, "DELETE", pushPath+"devices/token:1", nil).Problem(t, 404, "not_found")
	for range 2 {
		var gone api.PushDevice
		owner.Call(t, "DELETE", pushPath+"devices/token%3A1", nil).Into(t, 200, &gone)
		require.False(t, gone.Active)
	}
	require.True(t, owner.Device(t, "ben", "ios", "token:1", nil).Active)
	require.True(t, other.Device(t, "ada", "web", "token:1", nil).Active, "each tenant has its own")
	body := map[string]any{"userId": "ada", "platform": "android", "token": "t", "projectId": "launch", "kind": "voip"}
	owner.Call(t, "POST", pushPath+"devices", body).Problem(t, 400, "invalid_input")
	long := strings.Repeat("é", 1024) // longer than an entry of an index
	require.Equal(t, long, owner.Device(t, "ada", "web", long, nil).Token)
}

func TestAUsersDevicesAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	count := func() (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM push_devices WHERE tenant_id = $1", owner.TenantID).Scan(&n))
		return n
	}
	for i := range 51 {
		s.Clock.Advance(time.Second)
		owner.Device(t, "ada", "web", fmt.Sprint("t", i), nil)
	}
	owner.Device(t, "ben", "web", "ben's", nil)
	require.Equal(t, 51, count())
	owner.Call(t, "DELETE", pushPath+"devices/t0", nil).Problem(t, 404, "not_found")
	var counted int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT sum(n) FROM row_numbers WHERE scope = 'push_devices' AND key = $1", owner.TenantID).Scan(&counted))
	require.Equal(t, 51, counted)
	_, err := s.Pool.Exec(t.Context(), "INSERT INTO row_counts (scope, key, n) VALUES ('push_devices', $1, 999949)", owner.TenantID)
	require.NoError(t, err)
	body := map[string]any{"userId": "cem", "platform": "web", "token": "new", "projectId": "launch"}
	owner.Call(t, "POST", pushPath+"devices", body).Problem(t, 403, "plan_limit")
	owner.Device(t, "cem", "web", "t1", nil) // known

	_, err = s.Pool.Exec(t.Context(), "UPDATE push_devices SET last_seen_at = last_seen_at - interval '365 days' WHERE token <> 't2'")
	require.NoError(t, err)
	s.Clock.Advance(time.Minute)
	require.NoError(t, s.Pushes.DeleteOld(t.Context()))
	require.Equal(t, 1, count())
}

func TestNotificationsThatAreRefused(t *testing.T) {
	t.Parallel()
	owner := apitest.New(t, apitest.Options{}).Register(t)
	notice := func(fields map[string]any) map[string]any {
		body := map[string]any{"projectId": "launch", "userIds": []string{"ada"}, "title": "We are live", "body": "Come in"}
		maps.Copy(body, fields)
		return body
	}
	users := make([]string, 5001)
	for i := range users {
		users[i] = fmt.Sprint("u", i)
	}
	for name, fields := range map[string]map[string]any{
		"too many users": {"userIds": users}, "no user": {"userIds": []string{}},
		"too long": {"data": map[string]string{"a": strings.Repeat("x", 4050)}},
		"aps":      {"data": map[string]string{"aps": "1"}}, "from": {"data": map[string]string{"from": "1"}},
		"google.": {"data": map[string]string{"google.x": "1"}}, "gcm.": {"data": map[string]string{"gcm.x": "1"}},
		"not a string": {"data": map[string]any{"a": 1}},
	} {
		require.NotEmpty(t, owner.Call(t, "POST", pushPath+"notify", notice(fields)).Problem(t, 400, "invalid_input").Message, name)
	}
	var got api.PushResult
	owner.Call(t, "POST", pushPath+"notify", notice(map[string]any{"userIds": users[:5000], "data": map[string]string{"a": strings.Repeat("x", 3900)}})).Into(t, 201, &got)
	require.Equal(t, []any{0, 0, 0}, []any{got.Attempted, got.Delivered, got.Pending})
}
