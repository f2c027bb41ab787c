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

// Box encrypts with AES-256-GCM under keys derived from the master key.
type Box struct {
	master []byte
	keyID  []byte
	aead   cipher.AEAD
}

// NewBox takes a master key of KeySize bytes.
func NewBox(master []byte) (*Box, error) {
	if len(master) != KeySize {
		return nil, fmt.Errorf("a master key has %d bytes, this one has %d", KeySize, len(master))
	}
	b := &Box{master: bytes.Clone(master)}
	block, err := aes.NewCipher(b.Derive("box"))
	if err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	if b.aead, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("make cipher: %w", err)
	}
	b.keyID = b.Derive("key id")[:keyIDSize]
	return b, nil
}

// Derive makes a key of KeySize bytes for one purpose; the same purpose gives
// the same key as long as the master key stays.
func (b *Box) Derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, b.master, nil, "showfloor "+purpose, KeySize)
	if err != nil {
		panic(fmt.Sprintf("derive key: %v", err)) // only for absurd lengths
	}
	return key
}

// Seal encrypts plaintext. The context (table and id) is bound to the result,
// so that a value copied to another row doesn't open there.
func (b *Box) Seal(plaintext []byte, context string) []byte {
	nonce := make([]byte, b.aead.NonceSize())
	rand.Read(nonce) // never fails
	out := append([]byte{version}, b.keyID...)
	out = append(out, nonce...)
	return b.aead.Seal(out, nonce, plaintext, []byte(context))
}

// Open decrypts what Seal made with the same context.
func (b *Box) Open(sealed []byte, context string) ([]byte, error) {
	header := 1 + keyIDSize
	if len(sealed) < header+b.aead.NonceSize() || sealed[0] != version {
		return nil, errors.New("not a sealed value")
	}
	if !bytes.Equal(sealed[1:header], b.keyID) {
		return nil, errors.New("sealed with another master key: start with the MASTER_KEY that this database was made with")
	}
	nonce := sealed[header : header+b.aead.NonceSize()]
	plaintext, err := b.aead.Open(nil, nonce, sealed[header+b.aead.NonceSize():], []byte(context))
	if err != nil {
		return nil, fmt.Errorf("open sealed value: %w", err)
	}
	return plaintext, nil
}
