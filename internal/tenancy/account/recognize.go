package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"slices"
	"strings"

	"showfloor/internal/base/secret"
)

// Recognition classifies a credential without a database query.
type Recognition int

const (
	// Unrecognized means that the credential doesn't have the form of one that this server issues.
	Unrecognized Recognition = iota
	// Issued means that this server issued it. It may have been revoked, or have expired.
	Issued
	// RecentlyValid means that it was valid at most cacheLife ago.
	RecentlyValid
)

const (
	// keyLength is the number of base62 characters of a key after KeyPrefix.
	keyLength = 32
	// checkLength is how many characters at the end are computed from the others and
	// the master key: 36 bits. They distinguish our keys from made-up ones without a
	// query. The 26 characters before are random: 155 bits.
	checkLength = 6
)

// Recognize classifies a bearer token or API key. A key without valid check characters is
// Unrecognized, but may still be valid.
func (s *Service) Recognize(bearer string) Recognition {
	if _, ok := s.cache.get(sha256.Sum256([]byte(bearer))); ok {
		return RecentlyValid
	}
	if body, isKey := strings.CutPrefix(bearer, KeyPrefix); isKey {
		if len(body) == keyLength && s.checked(body[:keyLength-checkLength], body[keyLength-checkLength:]) {
			return Issued
		}
		return Unrecognized
	}
	if s.keys.Signed(bearer) {
		return Issued
	}
	return Unrecognized
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
