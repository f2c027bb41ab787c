package secondfactor

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

const (
	// step is the time for which an app shows a code (RFC 6238, section 4).
	step = 30 * time.Second
	// skew is how many steps an app's clock may be ahead or behind.
	skew = 1
	// MaxWrong is how many wrong codes a holder may send within wrongPeriod. Only callers who know the password or have a token get so
	// far: others can't use up the tries.
	MaxWrong    = 10
	wrongPeriod = 15 * time.Minute
	// recoveryCount and recoveryLength are the number of recovery codes and their length in characters of base32: 80 bits.
	recoveryCount  = 10
	recoveryLength = 16
	recoveryGroup  = 4
)

// Proof is a code of the app, or a recovery code.
type Proof struct{ Code, RecoveryCode string }

// ProofOf returns the proof in a text: a code of the app has 6 digits, and each other text is a recovery code.
func ProofOf(text string) Proof {
	if len(text) == otp.DigitsSix.Length() && strings.Trim(text, "0123456789") == "" {
		return Proof{Code: text}
	}
	return Proof{RecoveryCode: text}
}

// Verdict is the result of a check.
type Verdict struct {
	outcome outcome
	// retry is how long to wait before the next try, if there were too many.
	retry time.Duration
	// lockedUntil is set if the code was the last wrong one that is allowed.
	lockedUntil time.Time
}

// Locks reports whether the code was the last wrong one that is allowed, and the time until which the second factor is locked. It is true
// once for each lock: further codes aren't checked until then.
func (v Verdict) Locks() (until time.Time, ok bool) { return v.lockedUntil, !v.lockedUntil.IsZero() }

type outcome int

const (
	accepted outcome = iota
	absent
	wrong
	limited
)

// Refusal returns the problem of a change that needs a code; nil if the code is accepted.
func (v Verdict) Refusal() error {
	switch v.outcome {
	case accepted:
		return nil
	case limited:
		return v.limited()
	default:
		return problem.New(problem.Invalid, "wrong_code", "the code is wrong or was used already; wait for the app's next code")
	}
}

// LoginRefusal returns the problem of a login; nil if the code is accepted.
func (v Verdict) LoginRefusal() error {
	switch v.outcome {
	case accepted:
		return nil
	case absent:
		return problem.New(problem.Unauthenticated, "totp_required",
			"this account has a second factor; send the authenticator app's code as totpCode, or a recoveryCode")
	case limited:
		return v.limited()
	default:
		return problem.New(problem.Unauthenticated, "invalid_totp", "the code is wrong or was used already; wait for the app's next code")
	}
}

func (v Verdict) limited() error {
	return problem.Limited(v.retry, "too many wrong codes: %d in %d minutes are allowed", MaxWrong, int(wrongPeriod/time.Minute))
}

// tries returns the wrong codes that count at the moment, and the time from which they count.
func tries(row db.SecondFactor, now time.Time) (count int32, since time.Time) {
	if row.WrongSince == nil || now.Sub(*row.WrongSince) >= wrongPeriod {
		return 0, now
	}
	return row.WrongCodes, *row.WrongSince
}

// matchStep returns the step whose code equals the given one, if it is later than last: each code is accepted once (RFC 6238, section
// 5.2). It compares all steps in constant time.
func matchStep(secret []byte, code string, last int64, now time.Time) (matched int64, ok bool, err error) {
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
	current := now.Unix() / int64(step/time.Second)
	for at := current - skew; at <= current+skew; at++ {
		want, err := hotp.GenerateCodeCustom(text, uint64(max(at, 0)), hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, false, fmt.Errorf("compute code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 && at > last {
			matched, ok = at, true
		}
	}
	return matched, ok, nil
}

// newRecoveryCodes returns codes for people, such as K7QD-2MXA-PLTE-95VS, and their hashes.
func newRecoveryCodes(holderID string) (codes []string, hashes [][]byte) {
	for range recoveryCount {
		plain := rand.Text()[:recoveryLength]
		var groups []string
		for i := 0; i < len(plain); i += recoveryGroup {
			groups = append(groups, plain[i:i+recoveryGroup])
		}
		codes = append(codes, strings.Join(groups, "-"))
		hashes = append(hashes, hashRecovery(holderID, plain))
	}
	return codes, hashes
}

// hashRecovery hashes a recovery code; case, hyphens and spaces are ignored.
func hashRecovery(holderID, code string) []byte {
	plain := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	sum := sha256.Sum256([]byte(holderID + "\n" + plain))
	return sum[:]
}
