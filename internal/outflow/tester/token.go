package tester

import (
	"crypto/hmac"
	"crypto/sha256"
	"slices"

	"showfloor/internal/base/secret"
)

const (
	// tokenLength is the number of base62 characters of a capture URL's token.
	tokenLength = 32
	// checkLength is how many characters at the end are computed from the others and
	// Config.TokenKeys: 36 bits. The 26 characters before are random: 155 bits.
	checkLength = 6
)

// newToken makes the token of a capture URL.
func (s *Service) newToken() string {
	random := secret.Text(tokenLength - checkLength)
	return random + string(tokenCheck(s.config.TokenKeys[0], random))
}

// Issued reports, without a query, whether this server issued a token. It is false
// for tokens from before check characters were introduced.
func (s *Service) Issued(token string) bool {
	const random = tokenLength - checkLength
	return len(token) == tokenLength && slices.ContainsFunc(s.config.TokenKeys, func(key []byte) bool {
		return hmac.Equal([]byte(token[random:]), tokenCheck(key, token[:random]))
	})
}

func tokenCheck(key []byte, random string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(random))
	return secret.Base62(m.Sum(nil), checkLength)
}
