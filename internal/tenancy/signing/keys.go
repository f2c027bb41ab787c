// Package signing creates and checks the server's JWTs and manages their keys. The
// newest key signs, and all keys that aren't retired verify, so that keys can be
// replaced while tokens are valid. Every process on the database uses the same keys.
package signing

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
)

const (
	// MaxLife is the longest life of a token.
	MaxLife = 24 * time.Hour
	// freshFor is how long this process caches the keys. A revoked key is
	// accepted for at most that long.
	freshFor = time.Second
	// loadTimeout limits one read of the keys.
	loadTimeout = 5 * time.Second
)

// ErrInvalid is the error for every invalid token, except for those that have
// only expired.
var ErrInvalid = errors.New("invalid token")

// Config of Keys.
type Config struct {
	Pool *pgxpool.Pool
	Box  *secret.Box
	Log  *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Keys signs and verifies tokens.
type Keys struct {
	config Config
	// checks are the keys of Checks.
	checks [][]byte
	set    atomic.Pointer[keySet]

	// loading lets one caller at a time read the keys. started counts these
	// reads, and failure is the error of the last one.
	loading chan struct{}
	started atomic.Uint64
	failure error

	// refreshed is closed when the background read ends; nil if there is none.
	refreshing sync.Mutex
	refreshed  chan struct{}
}

// keySet is the result of one read.
type keySet struct {
	signer string
	keys   map[string]ed25519.PrivateKey
	newest CodeKey
	codes  map[uint32]CodeKey
	loaded time.Time
}

// New reads the keys, and creates the first key of a new database.
func New(ctx context.Context, c Config) (*Keys, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	k := &Keys{config: c, checks: c.Box.DeriveAll("signing checks"), loading: make(chan struct{}, 1)}
	if err := k.ensureFirst(ctx); err != nil {
		return nil, err
	}
	return k, k.load(ctx)
}

// Sign returns a signed token. It must expire within MaxLife.
func (k *Keys) Sign(ctx context.Context, claims jwt.Claims) (string, error) {
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil || expires.After(k.config.Now().Add(MaxLife)) {
		return "", fmt.Errorf("sign token: it must expire within %s", MaxLife)
	}
	set := k.fresh(ctx)
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header["kid"] = set.signer
	signed, err := token.SignedString(set.keys[set.signer])
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

// errUnknownKey is the only error for which new keys are read.
var errUnknownKey = errors.New("signed with an unknown key")

// Parse checks a token's signature, algorithm and lifetime and reads its claims,
// which the caller must check. An expired token is a problem with the code
// token_expired; for every other invalid token the error is ErrInvalid.
func (k *Keys) Parse(ctx context.Context, token string, claims jwt.Claims) error {
	err := k.parse(k.fresh(ctx), token, claims)
	if errors.Is(err, errUnknownKey) {
		// Another process may have just created the key. A client that invents
		// key ids makes the server read a small table, once at a time.
		if err := k.load(ctx); err != nil {
			return err
		}
		err = k.parse(k.set.Load(), token, claims)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrTokenExpired):
		return problem.New(problem.Unauthenticated, "token_expired", "the token has expired; log in again")
	default:
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
}

func (k *Keys) parse(set *keySet, token string, claims jwt.Claims) error {
	_, err := jwt.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		if !id.SigningKey.Matches(kid) {
			return nil, errors.New("no key id of ours")
		}
		key, ok := set.keys[kid]
		if !ok {
			return nil, errUnknownKey
		}
		return key.Public(), nil
	},
		// Only this algorithm: the token's own header must not choose it.
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(k.config.Now))
	return err
}

// at returns the same keys with another time of reading.
func (s *keySet) at(loaded time.Time) *keySet {
	c := *s
	c.loaded = loaded
	return &c
}

// fresh returns keys that are at most freshFor old. While the database is away,
// it returns the keys that were read last.
func (k *Keys) fresh(ctx context.Context) *keySet {
	set := k.set.Load()
	if k.config.Now().Sub(set.loaded) < freshFor {
		return set
	}
	if err := k.load(ctx); err != nil {
		k.config.Log.Warn("signing keys not read, the cached keys are still used", "error", err)
	}
	return k.set.Load()
}

// load reads the keys. Concurrent callers share one read, which begins after all
// of them have called.
func (k *Keys) load(ctx context.Context) error {
	came := k.started.Load()
	select {
	case k.loading <- struct{}{}:
		defer func() { <-k.loading }()
	case <-ctx.Done():
		return fmt.Errorf("wait for signing keys: %w", ctx.Err())
	}
	if k.started.Load() != came {
		return k.failure
	}
	k.started.Add(1)
	// Other callers wait for this read, so it doesn't end with the request that began it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	set, err := k.read(ctx)
	k.failure = err
	if err != nil {
		if old := k.set.Load(); old != nil {
			k.set.Store(old.at(k.config.Now()))
		}
		return err
	}
	k.set.Store(set)
	return nil
}

func (k *Keys) read(ctx context.Context) (*keySet, error) {
	rows, err := db.New(k.config.Pool).ListSigningKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list signing keys: %w", err)
	}
	set := &keySet{keys: map[string]ed25519.PrivateKey{}, codes: map[uint32]CodeKey{}, loaded: k.config.Now()}
	for i, row := range rows {
		key, err := k.open(row)
		if err != nil {
			return nil, err
		}
		code, err := deriveCode(row.ID, key)
		if err != nil {
			return nil, err
		}
		set.keys[row.ID], set.codes[code.ID] = key, code
		if i == 0 {
			set.signer, set.newest = row.ID, code
		}
	}
	if set.signer == "" {
		return nil, errors.New("there is no signing key; make one with: showfloor keys rotate")
	}
	return set, nil
}

// open decrypts a key.
func (k *Keys) open(row db.SigningKey) (ed25519.PrivateKey, error) {
	seed, err := k.config.Box.Open(row.PrivateKey, sealContext(row.ID))
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", row.ID, err)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// sealContext binds a sealed key to its row.
func sealContext(kid string) string { return "signing_keys/" + kid }
