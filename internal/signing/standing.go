package signing

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"

	"github.com/golang-jwt/jwt/v5"
)

// Signed tells, without asking the database, whether one of our keys has signed
// the token, be it good or not any more.
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

// TypeOf is what kind of token this says that it is, unchecked: good for choosing
// who is to check it. Empty for what isn't a token.
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

// Checks returns the sums that only a holder of the master keys can make of the text,
// that of the first master key first.
func (k *Keys) Checks(text string) [][]byte {
	var sums [][]byte
	for _, key := range k.checks {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(text))
		sums = append(sums, m.Sum(nil))
	}
	return sums
}
