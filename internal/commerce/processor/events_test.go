package processor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76/webhook"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
)

const (
	secret        = "whsec_platform"
	connectSecret = "whsec_connect"
)

const report = `{"id":"evt_1","object":"event","api_version":"2029-01-01","type":"charge.refunded","account":"acct_1","created":"new in 2029",
	"data":{"object":{"object":"charge","id":"ch_1","payment_intent":"pi_1"}}}`

func signature(body, secret string, when time.Time) string {
	return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: []byte(body), Secret: secret, Timestamp: when}).Header
}

func TestVerify(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good := signature(report, secret, now)
	stamp, mac, _ := strings.Cut(good, ",")
	whole := processor.Config{Secret: secret, ConnectSecret: connectSecret}
	for name, tt := range map[string]struct {
		config    processor.Config
		body      string
		signature string
		code      string
	}{
		"the platform's":           {whole, report, good, ""},
		"a seller's":               {whole, report, signature(report, connectSecret, now), ""},
		"only the platform's":      {processor.Config{Secret: secret}, report, good, ""},
		"only the sellers'":        {processor.Config{ConnectSecret: connectSecret}, report, signature(report, connectSecret, now), ""},
		"almost too old":           {whole, report, signature(report, secret, now.Add(-4*time.Minute)), ""},
		"second of several":        {whole, report, stamp + ",v1=" + strings.Repeat("00", 32) + "," + mac + ",v0=00", ""},
		"too old":                  {whole, report, signature(report, secret, now.Add(-5*time.Minute-2*time.Second)), "invalid_signature"},
		"another's secret":         {whole, report, signature(report, "whsec_other", now), "invalid_signature"},
		"no secret at all":         {processor.Config{Secret: secret}, report, signature(report, "", now), "invalid_signature"},
		"the other secret":         {processor.Config{Secret: secret}, report, signature(report, connectSecret, now), "invalid_signature"},
		"changed body":             {whole, strings.Replace(report, "acct_1", "acct_2", 1), good, "invalid_signature"},
		"other time":               {whole, report, fmt.Sprintf("t=%d,%s", now.Unix()+1, mac), "invalid_signature"},
		"only an older scheme":     {whole, report, stamp + "," + strings.Replace(mac, "v1", "v0", 1), "invalid_signature"},
		"no time":                  {whole, report, mac, "invalid_signature"},
		"nonsense":                 {whole, report, "t=x,v1=y,,=", "invalid_signature"},
		"none":                     {whole, report, "", "invalid_signature"},
		"not configured":           {processor.Config{Key: key}, report, good, "processor_unavailable"},
		"signed, but no JSON":      {whole, "hello", signature("hello", secret, now), "invalid_input"},
		"signed, but no event":     {whole, `{"type":"x"}`, signature(`{"type":"x"}`, secret, now), "invalid_input"},
		"signed, but another type": {whole, `[]`, signature(`[]`, secret, now), "invalid_input"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := processor.New(tt.config).Verify([]byte(tt.body), tt.signature)
			if tt.code == "" {
				require.NoError(t, err)
				require.Equal(t, processor.Event{ID: "evt_1", Type: "charge.refunded", AccountID: "acct_1", Payload: []byte(report)}, got)
				return
			}
			require.True(t, problem.Is(err, tt.code), "%v", err)
			require.NotContains(t, err.Error(), "whsec")
			require.Empty(t, got)
		})
	}
}

func TestPaymentOfAReport(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		`{"object":"charge","id":"ch_1","payment_intent":"pi_1"}`:          "pi_1",
		`{"object":"refund","id":"re_1","payment_intent":"pi_2"}`:          "pi_2",
		`{"object":"charge","id":"ch_1","payment_intent":{"id":"pi_3"}}`:   "pi_3",
		`{"object":"charge","id":"ch_1","payment_intent":null}`:            "",
		`{"object":"charge","id":"ch_1"}`:                                  "",
		`{"object":"charge","id":"ch_1","payment_intent":"pi_4","fee":{}}`: "pi_4",
	} {
		got, err := processor.Event{ID: "evt_1", Payload: []byte(`{"data":{"object":` + object + `}}`)}.PaymentIntentID()
		require.NoError(t, err, object)
		require.Equal(t, want, got, object)
	}
}

func TestReportsOnOtherThings(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{
		report, ``, `{}`, `[]`, `{"data":{}}`, `{"data":{"object":[]}}`, `{"data":{"object":{"object":"checkout.session"}}}`,
		`{"data":{"object":{"id":"cs_1"}}}`, `{"data":{"object":{"object":"checkout.session","id":"cs_1","amount_total":"x"}}}`,
	} {
		_, err := processor.Event{ID: "evt_1", Type: "x", Payload: []byte(payload)}.PaymentPage()
		require.ErrorContains(t, err, "evt_1", payload)
	}
	for _, payload := range []string{``, `{}`, `{"data":{"object":"x"}}`, `{"data":{"object":{"payment_intent":5}}}`} {
		_, err := processor.Event{ID: "evt_1", Type: "x", Payload: []byte(payload)}.PaymentIntentID()
		require.ErrorContains(t, err, "evt_1", payload)
	}
}
