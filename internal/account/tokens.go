package account

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
)

// tokenType tells tenant tokens from other kinds that the same keys may sign.
const tokenType = "tenant"

// reloadPause keeps tokens with invented key ids from reloading keys all the time.
const reloadPause = 5 * time.Second

// claims of a tenant user's token.
type claims struct {
	TenantID string `json:"tid"`
	Role     Role   `json:"role"`
	Version  int32  `json:"ver"`
	Type     string `json:"typ"`
	jwt.RegisteredClaims
}

// tokens signs with the newest key and verifies with every key that isn't
// retired, so that keys can rotate while tokens live.
type tokens struct {
	now func() time.Time

	mu     sync.RWMutex
	signer string
	keys   map[string]ed25519.PrivateKey
	loaded time.Time
}

func (t *tokens) set(signer string, keys map[string]ed25519.PrivateKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signer, t.keys, t.loaded = signer, keys, t.now()
}

func (t *tokens) sign(c claims) (string, error) {
	t.mu.RLock()
	kid, key := t.signer, t.keys[t.signer]
	t.mu.RUnlock()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, c)
	token.Header["kid"] = kid
	signed, err := token.SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed, nil
}

var errUnknownKey = errors.New("token is signed with an unknown key")

// parse checks signature, algorithm, lifetime and type.
func (t *tokens) parse(token string) (claims, error) {
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(tok *jwt.Token) (any, error) {
		kid, _ := tok.Header["kid"].(string)
		t.mu.RLock()
		defer t.mu.RUnlock()
		key, ok := t.keys[kid]
		if !ok {
			return nil, errUnknownKey
		}
		return key.Public(), nil
	},
		// One algorithm only: the token's own header must not choose.
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(t.now))
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return c, problem.New(problem.Unauthenticated, "token_expired", "the token has expired; log in again")
	case err != nil:
		return c, fmt.Errorf("parse token: %w", err)
	case c.Type != tokenType:
		return c, fmt.Errorf("parse token: type %q", c.Type)
	}
	return c, nil
}

// claimReload tells one caller, after each pause, that keys may be loaded again.
func (t *tokens) claimReload() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now().Sub(t.loaded) <= reloadPause {
		return false
	}
	t.loaded = t.now()
	return true
}

// loadSigningKeys reads the keys, and makes the first one. Several processes
// may start at once on one database: one of them makes it.
func (s *Service) loadSigningKeys(ctx context.Context) error {
	var rows []db.SigningKey
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := q.LockName(ctx, "signing_keys"); err != nil {
			return fmt.Errorf("lock signing keys: %w", err)
		}
		var err error
		if rows, err = q.ListSigningKeys(ctx); err != nil {
			return fmt.Errorf("list signing keys: %w", err)
		}
		if len(rows) > 0 {
			return nil
		}
		seed := make([]byte, ed25519.SeedSize)
		rand.Read(seed) // never fails
		kid := id.New(id.SigningKey)
		sealed := s.box.Seal(seed, "signing_keys/"+kid)
		if err := q.CreateSigningKey(ctx, db.CreateSigningKeyParams{ID: kid, PrivateKey: sealed, Now: s.now()}); err != nil {
			return fmt.Errorf("create signing key: %w", err)
		}
		rows = []db.SigningKey{{ID: kid, PrivateKey: sealed}}
		return nil
	})
	if err != nil {
		return err
	}
	keys := map[string]ed25519.PrivateKey{}
	for _, row := range rows {
		seed, err := s.box.Open(row.PrivateKey, "signing_keys/"+row.ID)
		if err != nil {
			return fmt.Errorf("signing key %s: %w", row.ID, err)
		}
		keys[row.ID] = ed25519.NewKeyFromSeed(seed)
	}
	s.tokens.set(rows[0].ID, keys)
	return nil
}

// parseToken verifies a token, and once more with fresh keys when another
// process may have rotated them.
func (s *Service) parseToken(ctx context.Context, token string) (claims, error) {
	c, err := s.tokens.parse(token)
	if errors.Is(err, errUnknownKey) && s.tokens.claimReload() {
		if loadErr := s.loadSigningKeys(ctx); loadErr != nil {
			return c, loadErr
		}
		c, err = s.tokens.parse(token)
	}
	return c, err
}

// issueToken makes a user's token.
func (s *Service) issueToken(u db.User) (token string, expiresAt time.Time, err error) {
	now := s.now()
	expiresAt = now.Add(UserTokenLife)
	token, err = s.tokens.sign(claims{
		TenantID: u.TenantID, Role: Role(u.Role), Version: u.TokenVersion, Type: tokenType,
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: u.ID, ID: id.New(id.Token),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expiresAt),
		},
	})
	return token, expiresAt, err
}
