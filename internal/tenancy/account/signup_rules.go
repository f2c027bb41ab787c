package account

import (
	"crypto/hmac"
	"crypto/sha256"
	"time"

	"showfloor/internal/base/problem"
)

// Limits of verified sign-up.
const (
	// FormLife is how long a form can be confirmed by its code.
	FormLife = 15 * time.Minute
	// ResendPause is the minimum time between two mails that resend a code.
	ResendPause = 30 * time.Second

	codeLength    = 6
	maxWrongCodes = 5
)

// judgeCode decides about a code. right says whether the code is the form's; wrong
// is the number of wrong codes before. It returns the new number of wrong codes,
// and a refusal. Only a client with the right code learns that the form has
// expired.
func judgeCode(right bool, wrong int32, expires, now time.Time) (int32, error) {
	switch {
	case wrong >= maxWrongCodes:
		return wrong, errInvalidCode()
	case !right:
		return wrong + 1, errInvalidCode()
	case !expires.After(now):
		return wrong, problem.New(problem.Invalid, "code_expired", "this code has expired; fill in the form again")
	}
	return 0, nil
}

func errInvalidCode() error {
	return problem.New(problem.Invalid, "invalid_code", "this code is wrong or was used; after 5 wrong ones fill in the form again")
}

// checkResend refuses a second mail within ResendPause.
func checkResend(last *time.Time, now time.Time) error {
	if last == nil || !now.Before(last.Add(ResendPause)) {
		return nil
	}
	return problem.Limited(last.Add(ResendPause).Sub(now), "a code can be mailed again once per 30 seconds")
}

// hashCode hashes a code for its form. There are only a million codes, so without
// the key an attacker who reads the hash could try them all.
func hashCode(key []byte, formID, code string) []byte { return keyed(key, "code/"+formID+"/"+code) }

func hashEmail(key []byte, email string) []byte { return keyed(key, "email/"+email) }

func keyed(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// equalHash compares in constant time; a missing hash equals no other.
func equalHash(kept, computed []byte) bool { return hmac.Equal(kept, computed) }
