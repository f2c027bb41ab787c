// Package secret encrypts values that must be readable again, such as webhook secrets and
// signing keys, with a master key, so that the stored values are unreadable without it.
package secret

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// KeySize is the length of a master key in bytes.
const KeySize = 32

// version leads every sealed value, so that the form can change.
const version = 1

// keyIDSize is how many bytes of a sealed value name its master key.
const keyIDSize = 4

// Box encrypts with AES-256-GCM with keys derived from the master key. While the
// master key is being replaced, the Box has two: the first seals, both open.
type Box struct {
	keys []*boxKey
}

// boxKey is one master key.
type boxKey struct {
	master []byte
	id     []byte
	aead   cipher.AEAD
}

// NewBox makes a Box from a master key of KeySize bytes, which seals and opens, and
// others, which only open. A key that is given twice counts once.
func NewBox(master []byte, others ...[]byte) (*Box, error) {
	b := &Box{}
	for _, m := range append([][]byte{master}, others...) {
		if len(m) != KeySize {
			return nil, fmt.Errorf("a master key has %d bytes, this one has %d", KeySize, len(m))
		}
		k := &boxKey{master: bytes.Clone(m)}
		block, err := aes.NewCipher(k.derive("box"))
		if err != nil {
			return nil, fmt.Errorf("make cipher: %w", err)
		}
		if k.aead, err = cipher.NewGCM(block); err != nil {
			return nil, fmt.Errorf("make cipher: %w", err)
		}
		k.id = k.derive("key id")[:keyIDSize]
		if b.find(k.id) == nil {
			b.keys = append(b.keys, k)
		}
	}
	return b, nil
}

// find returns the key with the id, nil if there is none.
func (b *Box) find(keyID []byte) *boxKey {
	for _, k := range b.keys {
		if bytes.Equal(k.id, keyID) {
			return k
		}
	}
	return nil
}

// Header returns the first bytes of every value that the first master key has sealed.
// They are not secret.
func (b *Box) Header() []byte { return append([]byte{version}, b.keys[0].id...) }

// Derive makes a key of KeySize bytes for one purpose from the first master key. The
// same purpose and master key always give the same key.
func (b *Box) Derive(purpose string) []byte { return b.keys[0].derive(purpose) }

// DeriveAll makes a key for one purpose from each master key, the first one's first, to
// check values that may be older than the current master key.
func (b *Box) DeriveAll(purpose string) [][]byte {
	var keys [][]byte
	for _, k := range b.keys {
		keys = append(keys, k.derive(purpose))
	}
	return keys
}

func (k *boxKey) derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, k.master, nil, "showfloor "+purpose, KeySize)
	if err != nil {
		panic(fmt.Sprintf("derive key: %v", err)) // only for absurd lengths
	}
	return key
}

// Seal encrypts plaintext with the first master key. The context (table and id) is bound to the result,
// so that a value copied to another row can't be opened there.
func (b *Box) Seal(plaintext []byte, context string) []byte {
	aead := b.keys[0].aead
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never fails
	out := append(b.Header(), nonce...)
	return aead.Seal(out, nonce, plaintext, []byte(context))
}

// Open decrypts a value that Seal made with the same context.
func (b *Box) Open(sealed []byte, context string) ([]byte, error) {
	header := 1 + keyIDSize
	if len(sealed) < header+b.keys[0].aead.NonceSize() || sealed[0] != version {
		return nil, errors.New("not a sealed value")
	}
	k := b.find(sealed[1:header])
	if k == nil {
		return nil, errors.New("sealed with another master key: start with the MASTER_KEY that this database was made with")
	}
	nonce := sealed[header : header+k.aead.NonceSize()]
	plaintext, err := k.aead.Open(nil, nonce, sealed[header+k.aead.NonceSize():], []byte(context))
	if err != nil {
		return nil, fmt.Errorf("open sealed value: %w", err)
	}
	return plaintext, nil
}

// Reseal returns the value sealed with the first master key.
func (b *Box) Reseal(sealed []byte, context string) ([]byte, error) {
	plaintext, err := b.Open(sealed, context)
	if err != nil {
		return nil, err
	}
	return b.Seal(plaintext, context), nil
}
