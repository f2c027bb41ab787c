package secret

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"showfloor/internal/base/durable"
)

// KeyFile reads a base64 master key from a file that only its owner can read. If there
// is no file, KeyFile creates one. The new file is on disk before the key is used, so that
// no value is ever sealed with a key that is lost.
func KeyFile(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return newKeyFile(path)
	}
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != KeySize {
		return nil, fmt.Errorf("does not hold %d bytes in base64; put the right file back, or nothing that it protects can be read", KeySize)
	}
	return key, nil
}

func newKeyFile(path string) ([]byte, error) {
	key := make([]byte, KeySize)
	rand.Read(key) // never fails
	text := base64.StdEncoding.EncodeToString(key) + "\n"
	if err := durable.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return key, nil
}
