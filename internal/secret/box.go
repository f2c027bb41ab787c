// Package secret keeps what must be read again but never be readable at rest:
// webhook secrets and signing keys, encrypted under one master key.
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

// Box encrypts with AES-256-GCM under keys derived from the master key. While the
// master key is being replaced, it has two: the first seals, both open.
type Box struct {
	keys []*boxKey
}

// boxKey is one master key.
type boxKey struct {
	master []byte
	id     []byte
	aead   cipher.AEAD
}

// NewBox takes a master key of KeySize bytes, which seals and opens, and others that
// only open. A key that is given twice counts once.
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

// find returns the key with the id, nil when there is none.
func (b *Box) find(keyID []byte) *boxKey {
	for _, k := range b.keys {
		if bytes.Equal(k.id, keyID) {
			return k
		}
	}
	return nil
}

// Header returns the bytes with which each value begins that the first master key
// has sealed. They are not secret.
func (b *Box) Header() []byte { return append([]byte{version}, b.keys[0].id...) }

// KeyCount returns the number of different master keys.
func (b *Box) KeyCount() int { return len(b.keys) }

// Derive makes a key of KeySize bytes for one purpose from the first master key; the
// same purpose gives the same key as long as that master key stays.
func (b *Box) Derive(purpose string) []byte { return b.keys[0].derive(purpose) }

// DeriveAll makes the key of each master key for one purpose, that of Derive first:
// for checking what may have been made before the master key was replaced.
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
// so that a value copied to another row doesn't open there.
func (b *Box) Seal(plaintext []byte, context string) []byte {
	aead := b.keys[0].aead
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never fails
	out := append(b.Header(), nonce...)
	return aead.Seal(out, nonce, plaintext, []byte(context))
}

// Open decrypts what Seal made with the same context.
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
