package handlers_test

import (
	"crypto/ed25519"
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// signer returns the server's signing key and its id.
func signer(t *testing.T, s *apitest.Server) (kid string, key ed25519.PrivateKey) {
	t.Helper()
	rows, err := db.New(s.Pool).ListSigningKeys(t.Context())
	require.NoError(t, err)
	seed, err := s.Box.Open(rows[0].PrivateKey, "signing_keys/"+rows[0].ID)
	require.NoError(t, err)
	return rows[0].ID, ed25519.NewKeyFromSeed(seed)
}

// goodClaims returns the claims of a token as the server issues it.
func goodClaims(s *apitest.Server, c *apitest.Caller) jwt.MapClaims {
	now := s.Clock.Now()
	return jwt.MapClaims{
		"sub": c.UserID, "tid": c.TenantID, "role": "OWNER", "ver": 1, "typ": "tenant", "jti": "jti_1",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	kid, key := signer(t, s)
	public, ok := key.Public().(ed25519.PublicKey)
	require.True(t, ok)
	_, foreign, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)

	sign := func(method jwt.SigningMethod, kid, key any, change map[string]any) string {
		claims := goodClaims(s, owner)
		for k, v := range change {
			if claims[k] = v; v == nil {
				delete(claims, k)
			}
		}
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = kid
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	good := sign(jwt.SigningMethodEdDSA, kid, key, nil)
	s.With(t, good).Call(t, "GET", "/v1/me", nil).Is(t, 200)

	for name, token := range map[string]string{
		"no algorithm":             sign(jwt.SigningMethodNone, kid, jwt.UnsafeAllowNoneSignatureType, nil),
		"HMAC with the public key": sign(jwt.SigningMethodHS256, kid, []byte(public), nil),
		"unknown key id":           sign(jwt.SigningMethodEdDSA, "jwk_unknown", key, nil),
		"key id of another type":   sign(jwt.SigningMethodEdDSA, 7, key, nil),
		"a foreign key":            sign(jwt.SigningMethodEdDSA, kid, foreign, nil),
		"another type":             sign(jwt.SigningMethodEdDSA, kid, key, map[string]any{"typ": "participant"}),
		"no type":                  sign(jwt.SigningMethodEdDSA, kid, key, map[string]any{"typ": nil}),
		"no expiry":                sign(jwt.SigningMethodEdDSA, kid, key, map[string]any{"exp": nil}),
		"not yet":                  sign(jwt.SigningMethodEdDSA, kid, key, map[string]any{"nbf": s.Clock.Now().Add(time.Hour).Unix()}),
		"user of another tenant":   sign(jwt.SigningMethodEdDSA, kid, key, map[string]any{"tid": other.TenantID}),
		"no such user":             sign(jwt.SigningMethodEdDSA, kid, key, map[string]any{"sub": "user_nobody"}),
		"signature cut off":        good[:len(good)-4],
		"two parts":                good[:len(good)-87],
		"garbage":                  "aaa.bbb.ccc",
		"one word":                 "token",
		"key that never was":       account.KeyPrefix + "00000000000000000000000000000000",
		"bytes":                    "\xff\xfe",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.With(t, token).Call(t, "GET", "/v1/me", nil).Problem(t, 401, "unauthenticated")
		})
	}
	s.With(t, sign(jwt.SigningMethodEdDSA, kid, key, map[string]any{"ver": 2})).Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_revoked")
	s.With(t, sign(jwt.SigningMethodEdDSA, kid, key, map[string]any{"exp": s.Clock.Now().Add(-time.Second).Unix()})).
		Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_expired")
}

func TestAuthorizationHeader(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for header, status := range map[string]int{
		"":                        401,
		"Bearer":                  401,
		"Bearer\x20":              401,
		"Basic " + owner.Token:    401,
		owner.Token:               401,
		"bearer " + owner.Token:   200,
		"Bearer   " + owner.Token: 200,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/me", http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Authorization", header)
		require.Equal(t, status, s.With(t, "").Do(t, r).Status, header)
	}
	s.With(t, "").Call(t, "GET", "/v1/me?access_token="+owner.Token, nil).Problem(t, 401, "unauthenticated")
}

func TestTokenEndsAfterTwelveHours(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	s.Clock.Advance(12*time.Hour - 5*time.Second)
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	s.Clock.Advance(10 * time.Second)
	owner.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_expired")
}

func TestTokensEndWithTheUsersVersion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"version":     "UPDATE users SET token_version = token_version + 1 WHERE id = $1",
		"deactivated": "UPDATE users SET status = 'DEACTIVATED' WHERE id = $1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			owner := s.Register(t)
			owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
			_, err := s.Pool.Exec(t.Context(), change, owner.UserID)
			require.NoError(t, err)
			s.Clock.Advance(5 * time.Second) // the longest that a cache may keep a token
			owner.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "token_revoked")
		})
	}
}

func TestRoleChangeCountsForLiveTokens(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	dev := s.Register(t).Colleague(t, tenancy.Developer)
	dev.Stream(t, nil)
	_, err := s.Pool.Exec(t.Context(), "UPDATE users SET role = 'VIEWER' WHERE id = $1", dev.UserID)
	require.NoError(t, err)
	s.Clock.Advance(5 * time.Second)
	dev.Call(t, "POST", "/v1/me/streams", map[string]any{"name": "x"}).Problem(t, 403, "forbidden")
}

func TestTwoServersOnOneDatabaseTrustEachOther(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	first, second := apitest.New(t, apitest.Options{Pool: pool}), apitest.New(t, apitest.Options{Pool: pool})
	owner := first.Register(t)
	second.With(t, owner.Token).Call(t, "GET", "/v1/me", nil).Is(t, 200)

	_, err := second.Keys.Rotate(t.Context(), audit.System("test"))
	require.NoError(t, err)
	fresh := second.Register(t)
	first.With(t, fresh.Token).Call(t, "GET", "/v1/me", nil).Is(t, 200) // signed with a key that is new to it
	second.With(t, owner.Token).Call(t, "GET", "/v1/me", nil).Is(t, 200)
}
