package signing

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"showfloor/internal/base/secret"
)

const (
	// staleAfter is the age at which keys are too old to be used while new ones are read. Keys get
	// that old only in a process that had no requests for so long.
	staleAfter = 10 * freshFor
	// staleWait limits the wait for new keys in that case.
	staleWait = 250 * time.Millisecond
)

// CodeKey is a key for message authentication codes. It is derived from a signing key, and
// created, replaced, retired and revoked with it.
type CodeKey struct {
	// ID identifies the key in the data that it has signed.
	ID     uint32
	Secret []byte
}

// deriveCode derives the code key of a signing key.
func deriveCode(kid string, key ed25519.PrivateKey) (CodeKey, error) {
	derived, err := hkdf.Key(sha256.New, key.Seed(), nil, "showfloor codes", secret.KeySize)
	if err != nil {
		return CodeKey{}, fmt.Errorf("derive code key: %w", err)
	}
	sum := sha256.Sum256([]byte(kid))
	return CodeKey{ID: binary.BigEndian.Uint32(sum[:]), Secret: derived}, nil
}

// NewestCodeKey returns the code key that signs. It never waits longer than staleWait, so that
// playback continues while the database is away.
func (k *Keys) NewestCodeKey() CodeKey { return k.recent().newest }

// FindCodeKey returns the code key with an id, or false if it was retired or revoked, or never
// existed. It waits for the database only if the id is unknown.
func (k *Keys) FindCodeKey(ctx context.Context, id uint32) (CodeKey, bool) {
	key, ok := k.recent().codes[id]
	if ok {
		return key, true
	}
	// Another process may have just created the key.
	if err := k.load(ctx); err != nil {
		return CodeKey{}, false
	}
	key, ok = k.set.Load().codes[id]
	return key, ok
}

// recent returns the cached keys. If they are older than freshFor, it reads new ones in the background.
func (k *Keys) recent() *keySet {
	set := k.set.Load()
	age := k.config.Now().Sub(set.loaded)
	if age < freshFor {
		return set
	}
	done := k.refresh()
	if age < staleAfter {
		return set
	}
	timeout := time.NewTimer(staleWait)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
	}
	return k.set.Load()
}

// refresh reads the keys in the background, once at a time. It closes the channel when the read is over.
func (k *Keys) refresh() <-chan struct{} {
	k.refreshing.Lock()
	defer k.refreshing.Unlock()
	if k.refreshed != nil {
		return k.refreshed
	}
	done := make(chan struct{})
	k.refreshed = done
	go func() {
		if err := k.load(context.Background()); err != nil {
			k.config.Log.Warn("signing keys not read, the cached keys are still used", "error", err)
		}
		k.refreshing.Lock()
		defer k.refreshing.Unlock()
		k.refreshed = nil
		close(done)
	}()
	return done
}
