package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"strings"

	"showfloor/internal/secret"
)

// Standing classifies a credential without a database query.
type Standing int

const (
	// Strange means that we can't have issued it, as far as this process knows.
	Strange Standing = iota
	// Ours means that we have issued it; it may be invalid now.
	Ours
	// Known means that it was valid at most cacheLife ago.
	Known
)

const (
	// keyLength is the number of base62 characters of a key after KeyPrefix.
	keyLength = 32
	// checkLength is how many characters at the end are computed from the others and
	// the master key: 36 bits. They distinguish our keys from made-up ones without a
	// query. The 26 characters before are random: 155 bits.
	checkLength = 6
)

// Standing classifies a bearer token or API key. Keys from before check characters
// were introduced are Strange, but may be valid.
func (s *Service) Standing(bearer string) Standing {
	if _, ok := s.cache.get(sha256.Sum256([]byte(bearer))); ok {
		return Known
	}
	if body, isKey := strings.CutPrefix(bearer, KeyPrefix); isKey {
		if len(body) == keyLength && s.checked(body[:keyLength-checkLength], body[keyLength-checkLength:]) {
			return Ours
		}
		return Strange
	}
	if s.keys.Signed(bearer) {
		return Ours
	}
	return Strange
}

// newKey makes an API key.
func (s *Service) newKey() string {
	random := secret.Text(keyLength - checkLength)
	return KeyPrefix + random + string(secret.Base62(s.keys.Checks("api key " + random)[0], checkLength))
}

// checked reports whether the end of a key matches its beginning.
func (s *Service) checked(random, end string) bool {
	return slices.ContainsFunc(s.keys.Checks("api key "+random), func(sum []byte) bool {
		return hmac.Equal([]byte(end), secret.Base62(sum, checkLength))
	})
}
