package signing

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"showfloor/internal/secret"
)

const (
	// staleAfter is the age from which keys are too old to go by while fresh ones are read.
	// Only a process that nobody has asked for so long has such keys.
	staleAfter = 10 * freshFor
	// staleWait bounds the wait for fresh keys in that case.
	staleWait = 250 * time.Millisecond
)

// CodeKey is a key for message authentication codes, derived from a signing key: it is
// made, replaced, retired and revoked with it.
type CodeKey struct {
	// ID names the key in what it has signed.
	ID     uint32
	Secret []byte
}

// deriveCode makes the code key of a signing key.
func deriveCode(kid string, key ed25519.PrivateKey) (CodeKey, error) {
	derived, err := hkdf.Key(sha256.New, key.Seed(), nil, "showfloor codes", secret.KeySize)
	if err != nil {
		return CodeKey{}, fmt.Errorf("derive code key: %w", err)
	}
	sum := sha256.Sum256([]byte(kid))
	return CodeKey{ID: binary.BigEndian.Uint32(sum[:]), Secret: derived}, nil
}

// NewestCodeKey is the code key that signs. It never waits longer than staleWait: playback goes on
// while the database is away.
func (k *Keys) NewestCodeKey() CodeKey { return k.recent().newest }

// FindCodeKey finds the code key with an id; false if it was retired or revoked, or never
// existed. It waits for the database only for an id that is unknown.
func (k *Keys) FindCodeKey(ctx context.Context, id uint32) (CodeKey, bool) {
	key, ok := k.recent().codes[id]
	if ok {
		return key, true
	}
	// Another process may have made the key a moment ago.
	if err := k.load(ctx); err != nil {
		return CodeKey{}, false
	}
	key, ok = k.set.Load().codes[id]
	return key, ok
}

// recent is the keys as they were a moment ago, while others are read in the background.
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

// refresh reads the keys in the background, one reading at a time. The channel is closed
// when the reading is over.
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
			k.config.Log.Warn("signing keys not read, the last ones go on", "error", err)
		}
		k.refreshing.Lock()
		defer k.refreshing.Unlock()
		k.refreshed = nil
		close(done)
	}()
	return done
}
