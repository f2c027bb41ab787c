package signing_test

import (
	"encoding/base64"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/signing"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func open(t *testing.T, pool *pgxpool.Pool, master string, clock *apitest.Clock) (*signing.Keys, error) {
	t.Helper()
	box, err := secret.NewBox([]byte(master))
	require.NoError(t, err)
	return signing.New(t.Context(), signing.Config{Pool: pool, Box: box, Log: slog.New(slog.DiscardHandler), Now: clock.Now})
}

// two returns the keys of two processes on one database.
func two(t *testing.T) (pool *pgxpool.Pool, clock *apitest.Clock, first, second *signing.Keys) {
	t.Helper()
	pool, clock = dbtest.New(t), apitest.NewClock()
	first, err := open(t, pool, apitest.MasterKey, clock)
	require.NoError(t, err)
	second, err = open(t, pool, apitest.MasterKey, clock)
	require.NoError(t, err)
	return pool, clock, first, second
}

func sign(t *testing.T, k *signing.Keys, clock *apitest.Clock, life time.Duration) string {
	t.Helper()
	token, err := k.Sign(t.Context(), jwt.RegisteredClaims{Subject: "user_1", ExpiresAt: jwt.NewNumericDate(clock.Now().Add(life))})
	require.NoError(t, err)
	return token
}

func good(t *testing.T, k *signing.Keys, token string) {
	t.Helper()
	var c jwt.RegisteredClaims
	require.NoError(t, k.Parse(t.Context(), token, &c))
	require.Equal(t, "user_1", c.Subject)
}

func bad(t *testing.T, k *signing.Keys, token string) {
	t.Helper()
	require.ErrorIs(t, k.Parse(t.Context(), token, &jwt.RegisteredClaims{}), signing.ErrInvalid)
}

// kidOf returns the id of the key in a token's header.
func kidOf(t *testing.T, token string) string {
	t.Helper()
	parsed, _, err := jwt.NewParser().ParseUnverified(token, &jwt.RegisteredClaims{})
	require.NoError(t, err)
	kid, ok := parsed.Header["kid"].(string)
	require.True(t, ok)
	return kid
}

// TestProcessesOnOneDatabaseShareTheirKeys starts several processes at once on
// an empty database; they must use the same key.
func TestProcessesOnOneDatabaseShareTheirKeys(t *testing.T) {
	t.Parallel()
	pool, clock := dbtest.New(t), apitest.NewClock()
	all := make([]*signing.Keys, 6)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = open(t, pool, apitest.MasterKey, clock); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	rows, err := all[0].List(t.Context())
	require.NoError(t, err)
	require.Len(t, rows, 1)
	token := sign(t, all[0], clock, time.Hour)
	for _, k := range all {
		good(t, k, token)
	}
}

// TestANewKeyCountsEverywhereAtOnce checks that every process accepts tokens of
// a new key without a wait or a restart.
func TestANewKeyCountsEverywhereAtOnce(t *testing.T) {
	t.Parallel()
	_, clock, first, second := two(t)
	before := sign(t, second, clock, time.Hour)
	made, err := first.Rotate(t.Context(), audit.System("test"))
	require.NoError(t, err)
	after := sign(t, first, clock, time.Hour)
	require.Equal(t, made.ID, kidOf(t, after))
	require.NotEqual(t, kidOf(t, before), kidOf(t, after))
	good(t, first, before)
	good(t, second, after)
	require.Equal(t, made.ID, kidOf(t, sign(t, second, clock, time.Hour)), "and by now it signs with it as well")
}

func TestKeysRotateAndRetireByAge(t *testing.T) {
	t.Parallel()
	pool, clock, first, second := two(t)
	require.NoError(t, first.RotateDue(t.Context()))
	rows, err := first.List(t.Context())
	require.NoError(t, err)
	require.Len(t, rows, 1, "young enough")
	oldest := rows[0].ID

	clock.Advance(90*24*time.Hour - time.Minute)
	require.NoError(t, first.RotateDue(t.Context()))
	token, code := sign(t, first, clock, signing.MaxLife), first.NewestCodeKey()
	require.Equal(t, oldest, kidOf(t, token))

	clock.Advance(time.Minute)
	require.NoError(t, first.RotateDue(t.Context()))
	require.NoError(t, second.RotateDue(t.Context()), "once for all processes")
	rows, err = first.List(t.Context())
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.NotEqual(t, oldest, kidOf(t, sign(t, second, clock, time.Hour)))

	clock.Advance(signing.MaxLife - 2*time.Minute)
	require.NoError(t, first.RotateDue(t.Context()))
	good(t, second, token)

	// Viewer sessions live as long as their broadcast.
	clock.Advance(30 * 24 * time.Hour)
	require.NoError(t, first.RotateDue(t.Context()))
	_, known := second.FindCodeKey(t.Context(), code.ID)
	require.True(t, known)

	clock.Advance(2 * time.Hour)
	require.NoError(t, first.RotateDue(t.Context()))
	rows, err = first.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, oldest, rows[1].ID)
	require.NotNil(t, rows[1].RetiredAt)
	require.Nil(t, rows[1].RevokedAt)
	require.Empty(t, rows[1].PrivateKey, "wiped")
	require.Nil(t, rows[0].RetiredAt)
	bad(t, second, token)

	var actions []string
	require.NoError(t, pool.QueryRow(t.Context(),
		"SELECT array_agg(action ORDER BY id) FROM audit_entries WHERE entity = 'signing_key' AND actor_type = 'system'").Scan(&actions))
	require.Equal(t, []string{"signing_key.rotate", "signing_key.retire"}, actions)
}

// TestTokensOfARevokedKeyAreRefused checks that, a second later at most, no
// process accepts its tokens.
func TestTokensOfARevokedKeyAreRefused(t *testing.T) {
	t.Parallel()
	_, clock, first, second := two(t)
	token := sign(t, first, clock, time.Hour)
	kid := kidOf(t, token)
	successor, err := first.Revoke(t.Context(), audit.System("test"), kid, "leaked")
	require.NoError(t, err)
	bad(t, first, token)
	clock.Advance(time.Second)
	bad(t, second, token)

	fresh := sign(t, second, clock, time.Hour)
	require.Equal(t, successor, kidOf(t, fresh), "a key took the place of the one that signed")
	good(t, first, fresh)
	rows, err := first.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, kid, rows[1].ID)
	require.NotNil(t, rows[1].RevokedAt)
	require.Empty(t, rows[1].PrivateKey)

	_, err = first.Revoke(t.Context(), audit.System("test"), kid, "again")
	require.True(t, problem.Is(err, "not_found"))
	_, err = first.Revoke(t.Context(), audit.System("test"), "jwk_unknown", "")
	require.True(t, problem.Is(err, "not_found"))
}

func TestRevokingAnOldKeyLeavesTheSigner(t *testing.T) {
	t.Parallel()
	_, clock, first, _ := two(t)
	old := sign(t, first, clock, time.Hour)
	made, err := first.Rotate(t.Context(), audit.System("test"))
	require.NoError(t, err)
	successor, err := first.Revoke(t.Context(), audit.System("test"), kidOf(t, old), "leaked")
	require.NoError(t, err)
	require.Empty(t, successor)
	require.Equal(t, made.ID, kidOf(t, sign(t, first, clock, time.Hour)))
	bad(t, first, old)
}

func TestNoTokenOutlivesItsKey(t *testing.T) {
	t.Parallel()
	_, clock, first, _ := two(t)
	for _, expires := range []*jwt.NumericDate{nil, jwt.NewNumericDate(clock.Now().Add(signing.MaxLife + time.Minute))} {
		_, err := first.Sign(t.Context(), jwt.RegisteredClaims{ExpiresAt: expires})
		require.ErrorContains(t, err, "24h")
	}
	token := sign(t, first, clock, time.Hour)
	clock.Advance(2 * time.Hour)
	err := first.Parse(t.Context(), token, &jwt.RegisteredClaims{})
	require.True(t, problem.Is(err, "token_expired"))
}

// TestKeysOutliveTheDatabase checks that valid tokens are accepted while the
// keys can't be read again.
func TestKeysOutliveTheDatabase(t *testing.T) {
	t.Parallel()
	pool, clock, first, _ := two(t)
	token := sign(t, first, clock, time.Hour)
	_, err := pool.Exec(t.Context(), "ALTER TABLE signing_keys RENAME TO signing_keys_away")
	require.NoError(t, err)
	clock.Advance(time.Minute)
	good(t, first, token)
	good(t, first, sign(t, first, clock, time.Hour))
	_, body, _ := strings.Cut(token, ".")
	header := `{"alg":"EdDSA","kid":"jwk_01m18qg1mhf2bsz1fk6m8v4jxe","typ":"JWT"}`
	err = first.Parse(t.Context(), base64.RawURLEncoding.EncodeToString([]byte(header))+"."+body, &jwt.RegisteredClaims{})
	require.Error(t, err)
	require.NotErrorIs(t, err, signing.ErrInvalid, "whether this key exists is unknown at the moment")
}

// TestReadingsAreShared checks that many concurrent tokens of a new key cause
// only a few reads of the keys, not one each.
func TestReadingsAreShared(t *testing.T) {
	t.Parallel()
	pool, clock, first, second := two(t)
	_, err := second.Rotate(t.Context(), audit.System("test"))
	require.NoError(t, err)
	token := sign(t, second, clock, time.Hour)
	before := pool.Stat().AcquireCount()
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if err := first.Parse(t.Context(), token, &jwt.RegisteredClaims{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Less(t, pool.Stat().AcquireCount()-before, int64(50))
}

func TestAWrongMasterKeyIsReported(t *testing.T) {
	t.Parallel()
	pool, clock := dbtest.New(t), apitest.NewClock()
	_, err := open(t, pool, apitest.MasterKey, clock)
	require.NoError(t, err)
	_, err = open(t, pool, strings.Repeat("x", secret.KeySize), clock)
	require.ErrorContains(t, err, "MASTER_KEY")
	require.NotContains(t, err.Error(), "xxxx")
	n, err := db.New(pool).ListSigningKeys(t.Context())
	require.NoError(t, err)
	require.Len(t, n, 1)
}
