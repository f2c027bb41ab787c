package seller

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
)

func TestMeaningsOfARefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		want   problem.Kind
	}{
		{403, "account_invalid", problem.Conflict},
		{404, "resource_missing", problem.Conflict},
		{400, "account_invalid", problem.Conflict},
		{400, "url_invalid", problem.Invalid},
		{402, "", problem.Unavailable},
	} {
		p, known := problem.As(linkProblem(&processor.Refusal{Status: c.status, Code: c.code}))
		require.True(t, known)
		require.Equal(t, c.want, p.Kind, "%d %s", c.status, c.code)
	}
	other := errors.New("no refusal")
	require.Equal(t, other, linkProblem(other))
	require.False(t, gone(other))
	require.False(t, gone(&processor.Refusal{Status: 400, Code: "url_invalid"}))
}

func TestWhenTheProcessorIsAsked(t *testing.T) {
	t.Parallel()
	now, account := time.Now(), "acct_1"
	at := func(ago time.Duration) *time.Time { return new(now.Add(-ago)) }
	for name, c := range map[string]struct {
		seller  db.Seller
		enabled bool
		want    bool
	}{
		"no account":          {db.Seller{}, false, false},
		"never asked":         {db.Seller{ProcessorAccountID: &account}, true, true},
		"not enabled":         {db.Seller{ProcessorAccountID: &account, AskedAt: at(askPause + 1), CheckedAt: at(0)}, false, true},
		"not enabled, asked":  {db.Seller{ProcessorAccountID: &account, AskedAt: at(askPause), CheckedAt: at(time.Hour)}, false, false},
		"enabled, fresh":      {db.Seller{ProcessorAccountID: &account, AskedAt: at(askPause + 1), CheckedAt: at(freshFor)}, true, false},
		"enabled, not fresh":  {db.Seller{ProcessorAccountID: &account, AskedAt: at(askPause + 1), CheckedAt: at(freshFor + 1)}, true, true},
		"asked without reply": {db.Seller{ProcessorAccountID: &account, AskedAt: at(askPause), CheckedAt: at(freshFor + 1)}, true, false},
		"the clock was ahead": {db.Seller{ProcessorAccountID: &account, AskedAt: at(-time.Hour), CheckedAt: at(-time.Hour)}, true, true},
	} {
		require.Equal(t, c.want, due(c.seller, c.enabled, now), name)
	}
	require.False(t, keyHasLapsed(db.Seller{CreatedAt: now.Add(-keyLife)}, now))
	require.True(t, keyHasLapsed(db.Seller{CreatedAt: now.Add(-keyLife - 1)}, now))
}
