package secondfactor

import (
	"encoding/base32"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
)

func TestMatchStep(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890") // RFC 6238, appendix B
	now := time.Unix(1_111_111_109, 0)
	const current = 37_037_036
	for name, one := range map[string]struct {
		shift   time.Duration
		last    int64
		matched int64
		ok      bool
	}{
		"now":                  {0, 0, current, true},
		"one step behind":      {-step, 0, current - 1, true},
		"one step ahead":       {step, 0, current + 1, true},
		"two steps behind":     {-2 * step, 0, 0, false},
		"two steps ahead":      {2 * step, 0, 0, false},
		"used":                 {0, current, 0, false},
		"before the used one":  {-step, current, 0, false},
		"after the used one":   {step, current, current + 1, true},
		"the first after that": {0, current - 1, current, true},
	} {
		code, err := totp.GenerateCode(base32.StdEncoding.EncodeToString(secret), now.Add(one.shift))
		require.NoError(t, err)
		matched, ok, err := matchStep(secret, code, one.last, now)
		require.NoError(t, err)
		require.Equal(t, one.ok, ok, name)
		require.Equal(t, one.matched, matched, name)
	}
	_, ok, err := matchStep(secret, "081804", 0, now) // the RFC's 07081804, cut to 6 digits
	require.NoError(t, err)
	require.True(t, ok)
}

func TestTries(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	before := now.Add(-wrongPeriod + time.Second)
	count, since := tries(db.SecondFactor{}, now)
	require.Zero(t, count)
	require.Equal(t, now, since)
	count, since = tries(db.SecondFactor{WrongCodes: 7, WrongSince: &before}, now)
	require.EqualValues(t, 7, count)
	require.Equal(t, before, since)
	count, _ = tries(db.SecondFactor{WrongCodes: 7, WrongSince: &before}, now.Add(time.Second))
	require.Zero(t, count)
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	codes, hashes := newRecoveryCodes("user_1")
	require.Len(t, codes, 10)
	require.Regexp(t, `^[A-Z2-7]{4}(-[A-Z2-7]{4}){3}$`, codes[0])
	require.Equal(t, hashes[0], hashRecovery("user_1", codes[0]))
	require.NotEqual(t, hashes[0], hashRecovery("user_2", codes[0]))
	require.Equal(t, Proof{Code: "123456"}, ProofOf("123456"))
	require.Equal(t, Proof{RecoveryCode: codes[1]}, ProofOf(codes[1]))
}
