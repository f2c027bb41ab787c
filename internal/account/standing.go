package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"strings"

	"showfloor/internal/secret"
)

// Standing is what can be said of a credential without asking the database.
type Standing int

const (
	// Strange is what we can't have issued, as far as this process knows.
	Strange Standing = iota
	// Ours is what we have issued, be it good or not any more.
	Ours
	// Known is what was good a moment ago.
	Known
)

const (
	// keyLength is the number of base62 characters of a key after KeyPrefix.
	keyLength = 32
	// checkLength of them, at the end, follow from the others and the master
	// key: 36 bits, by which a key of ours is told from a made-up one without a
	// query. The 26 before are random: 155 bits.
	checkLength = 6
)

// Standing judges a bearer token or API key. Keys from before keys had check
// characters are Strange, and as good as any other.
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

// checked tells whether the end of a key follows from its beginning.
func (s *Service) checked(random, end string) bool {
	return slices.ContainsFunc(s.keys.Checks("api key "+random), func(sum []byte) bool {
		return hmac.Equal([]byte(end), secret.Base62(sum, checkLength))
	})
}
