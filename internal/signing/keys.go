// Package signing makes and checks the JWTs that the server hands out, and keeps
// the keys for it: the newest signs, all that aren't retired verify, so that keys
// change while tokens live. Every process on the database uses the same keys.
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
	"showfloor/internal/id"
	"showfloor/internal/problem"
	"showfloor/internal/secret"
)

const (
	// MaxLife is the longest that a token may live.
	MaxLife = 24 * time.Hour
	// freshFor is how long this process goes by the keys that it has read: a
	// revoked one verifies no longer than that.
	freshFor = time.Second
	// loadTimeout bounds one reading of the keys.
	loadTimeout = 5 * time.Second
)

// ErrInvalid is what every token that isn't a good one of ours is refused with,
// but for those that have merely expired.
var ErrInvalid = errors.New("invalid token")

// Config of Keys.
type Config struct {
	Pool *pgxpool.Pool
	Box  *secret.Box
	Log  *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Keys signs and verifies.
type Keys struct {
	config Config
	// checks are the keys of Checks.
	checks [][]byte
	set    atomic.Pointer[keySet]

	// loading lets one caller read the keys at a time; started counts these
	// readings, and failure is how the last one ended.
	loading chan struct{}
	started atomic.Uint64
	failure error

	// refreshed is closed when the reading in the background ends; nil: there is none.
	refreshing sync.Mutex
	refreshed  chan struct{}
}

// keySet is what one reading found.
type keySet struct {
	signer string
	keys   map[string]ed25519.PrivateKey
	newest CodeKey
	codes  map[uint32]CodeKey
	loaded time.Time
}

// New reads the keys, and makes the first one of a new database.
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

// Sign makes a token. It must expire within MaxLife.
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

// errUnknownKey is the one fault that fresh keys may cure.
var errUnknownKey = errors.New("signed with an unknown key")

// Parse checks a token's signature, algorithm and lifetime and reads its claims;
// what they say is the caller's to judge. A token that has expired is a problem
// with the code token_expired, every other bad one ErrInvalid.
func (k *Keys) Parse(ctx context.Context, token string, claims jwt.Claims) error {
	err := k.parse(k.fresh(ctx), token, claims)
	if errors.Is(err, errUnknownKey) {
		// Another process may have made the key a moment ago. Whoever invents key
		// ids makes us read a small table, one reading at a time.
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
		// One algorithm only: the token's own header must not choose.
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(k.config.Now))
	return err
}

// at is the same keys, read at another time.
func (s *keySet) at(loaded time.Time) *keySet {
	c := *s
	c.loaded = loaded
	return &c
}

// fresh is the keys as they were a moment ago. While the database can't be
// asked, those go on that were read last.
func (k *Keys) fresh(ctx context.Context) *keySet {
	set := k.set.Load()
	if k.config.Now().Sub(set.loaded) < freshFor {
		return set
	}
	if err := k.load(ctx); err != nil {
		k.config.Log.Warn("signing keys not read, the last ones go on", "error", err)
	}
	return k.set.Load()
}

// load reads the keys. Callers that come together share a reading that begins
// after all of them have come.
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
	// Others wait for it, so it doesn't end with the request that began it.
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
