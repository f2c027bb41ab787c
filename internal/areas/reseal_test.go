package areas_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/areas"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/secret"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/flowtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func newBox(t *testing.T, keys ...string) *secret.Box {
	t.Helper()
	var others [][]byte
	for _, key := range keys[1:] {
		others = append(others, []byte(key))
	}
	box, err := secret.NewBox([]byte(keys[0]), others...)
	require.NoError(t, err)
	return box
}

// TestMasterKeyIsReplaced replaces it while servers run. With both keys everything works,
// a killed run is resumed, and afterwards the old key can be removed.
func TestMasterKeyIsReplaced(t *testing.T) {
	t.Parallel()
	const newKey = "the next master key, of 32 bytes"
	pool := dbtest.New(t)
	before := apitest.New(t, apitest.Options{Pool: pool})
	owner := before.Register(t)
	apiKey := owner.Key(t, tenancy.StreamsRead)
	token := apitest.CapturePath(t, owner.CaptureURL(t))
	token = strings.Split(strings.TrimPrefix(token, "/v1/webhooks/capture/"), "/")[0]
	hook := owner.Webhook(t, "https://shop.example/hook", "stream.started")
	owner.Call(t, http.MethodPost, "/v1/me/webhooks/"+hook.ID+"/rotate-secret", nil).Is(t, 201)
	owner.RestreamTarget(t, "rtmp://live.example/app/key")
	owner.SetPushCredentials(t, "launch")
	owner.Call(t, http.MethodPost, "/v1/me/security/totp", map[string]any{"password": apitest.Password}).Is(t, 201)
	create := func(t *testing.T, s *apitest.Server) apitest.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/me/streams", strings.NewReader(`{"name":"Once"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "once")
		return s.With(t, owner.Token).Do(t, r)
	}
	first := create(t, before)
	first.Is(t, 201)
	const email = "new@shop.example"
	before.With(t, "").Call(t, http.MethodPost, "/v1/auth/send-code", map[string]any{
		"tenantName": "Shop", "name": "Ada", "email": email, "password": apitest.Password,
	}).Is(t, 201)
	code := apitest.Code(t, before.LastMail(t, email).Text)
	post := func(t *testing.T, s *apitest.Server, n int) {
		t.Helper()
		require.NoError(t, postgres.InTx(t.Context(), pool, func(tx pgx.Tx) error {
			for range n {
				if err := s.Mails.PostTx(t.Context(), tx, mail.Letter{
					Kind: "test", To: "many@shop.example", Subject: "Many", Until: time.Now().Add(time.Hour),
				}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	const many = secret.ResealBatch + 50
	post(t, before, many)

	// All servers have both keys now; one of them still encrypts with the old one.
	both := newBox(t, newKey, apitest.MasterKey)
	during := apitest.New(t, apitest.Options{Pool: pool, Box: both})
	old := apitest.New(t, apitest.Options{Pool: pool, Box: newBox(t, apitest.MasterKey, newKey)})
	flowtest.Step(t, "all servers have both keys, one encrypts with the old one", func(t *testing.T) {
		require.Equal(t, string(first.Body), string(create(t, during).Body))
		require.True(t, during.Tester.Issued(token))
	})
	flowtest.Step(t, "the command is killed after one batch, and continues", func(t *testing.T) {
		// The command is killed after one batch.
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		_, err := mail.Reseal(ctx, pool, both, func(int) { kill() })
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, map[string]int{"signing keys": 1, "webhook endpoints": 1, "restream targets": 1, "push credentials": 1, "second factors": 1, "mails": many + 1 - secret.ResealBatch, "idempotency keys": 1}, reseal(t, both, pool))
		post(t, old, 1)
		require.Equal(t, map[string]int{"signing keys": 0, "webhook endpoints": 0, "restream targets": 0, "push credentials": 0, "second factors": 0, "mails": 1, "idempotency keys": 0}, reseal(t, both, pool))
		require.Equal(t, map[string]int{"signing keys": 0, "webhook endpoints": 0, "restream targets": 0, "push credentials": 0, "second factors": 0, "mails": 0, "idempotency keys": 0}, reseal(t, both, pool))
	})
	flowtest.Step(t, "a sign-up began with the old key", func(t *testing.T) {
		// A sign-up that began with the old key ends with the new one.
		during.With(t, "").Call(t, http.MethodPost, "/v1/auth/verify-and-register", map[string]any{"email": email, "code": code}).Is(t, 201)
	})
	flowtest.Step(t, "a server without the old key", func(t *testing.T) {
		// A server without the old key.
		after := apitest.New(t, apitest.Options{Pool: pool, Box: newBox(t, newKey)})
		after.With(t, owner.Token).Call(t, http.MethodGet, "/v1/me", nil).Is(t, 200)
		after.With(t, apiKey.Token).Call(t, http.MethodGet, "/v1/me/streams", nil).Is(t, 200)
		require.Equal(t, string(first.Body), string(create(t, after).Body))
		require.Len(t, after.MailsTo(t, "many@shop.example"), many+1)
		var current, previous []byte
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT secret, previous_secret FROM webhook_endpoints WHERE id = $1", hook.ID).Scan(&current, &previous))
		for _, sealed := range [][]byte{current, previous} {
			plain, err := after.Box.Open(sealed, "webhook_endpoints/"+hook.ID)
			require.NoError(t, err)
			require.Contains(t, string(plain), "whsec_")
		}
	})
	flowtest.Step(t, "rows whose key no server has", func(t *testing.T) {
		// Rows whose key no server has are reported and not changed.
		post(t, before, 12)
		result, err := mail.Reseal(t.Context(), pool, newBox(t, newKey, "a third master key, with 32 byte"), func(int) {})
		require.NoError(t, err)
		require.Equal(t, 12, result.Failed)
		require.Len(t, result.Unopened, 10)
		require.Zero(t, result.Done)
	})
}

// reseal reseals all kinds of rows once and counts them.
func reseal(t *testing.T, box *secret.Box, pool *pgxpool.Pool) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, sealed := range areas.AllSealed() {
		result, err := sealed.Reseal(t.Context(), pool, box, func(int) {})
		require.NoError(t, err)
		require.Zero(t, result.Failed)
		counts[sealed.Name] = result.Done
	}
	return counts
}

// TestAllSealedColumnsAreKnown ensures that no new encrypted column is forgotten: each
// column of bytes is either in AllSealed, or listed here as not encrypted.
func TestAllSealedColumnsAreKnown(t *testing.T) {
	t.Parallel()
	rows, err := dbtest.New(t).Query(t.Context(), `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND data_type = 'bytea' AND table_name NOT LIKE 'river%' ORDER BY 1`)
	require.NoError(t, err)
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		// Encrypted columns.
		"signing_keys.private_key", "restream_targets.address", "push_credentials.ios_key", "push_credentials.cloud_account", "webhook_endpoints.secret", "webhook_endpoints.previous_secret", "mails.content", "idempotency_keys.body",
		"second_factors.secret",
		// Columns of hashes and bodies.
		"api_keys.key_hash", "recovery_codes.code_hash", "ended_api_keys.key_hash", "streams.key_hash", "stream_keys.hash",
		"publishers.key_hash", "signup_forms.code_hash", "signup_tries.email_hash",
		"password_links.token_hash", "invitations.token_hash", "known_networks.pair_hash", "usage_intervals.key", "captures.body", "utterances.sound", "idempotency_keys.fingerprint",
		"recording_text_tracks.hash", "push_devices.token_hash", "cdn_files.hash", "cdn_requests.key",
	}, columns)
}
