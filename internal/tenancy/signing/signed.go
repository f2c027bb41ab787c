package signing

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"

	"github.com/golang-jwt/jwt/v5"
)

// Signed reports, without a query, whether one of our keys has signed the token, even
// if the token is no longer valid.
func (k *Keys) Signed(token string) bool {
	set := k.set.Load()
	_, err := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithoutClaimsValidation()).
		Parse(token, func(t *jwt.Token) (any, error) {
			kid, _ := t.Header["kid"].(string)
			key, ok := set.keys[kid]
			if !ok {
				return ed25519.PublicKey(nil), errUnknownKey
			}
			return key.Public(), nil
		})
	return err == nil
}

// TypeOf returns the type that the token names, unverified. Use it only to choose the code
// that checks the token. It is empty if the text isn't a token.
func TypeOf(token string) string {
	var c struct {
		Type string `json:"typ"`
		jwt.RegisteredClaims
	}
	if _, _, err := jwt.NewParser().ParseUnverified(token, &c); err != nil {
		return ""
	}
	return c.Type
}

// Checks returns the MACs of the text, one for each master key, the first master
// key's first. Only a holder of a master key can compute them.
func (k *Keys) Checks(text string) [][]byte {
	var sums [][]byte
	for _, key := range k.checks {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(text))
		sums = append(sums, m.Sum(nil))
	}
	return sums
}
