package showfloor_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	showfloor "showfloor/sdk/go"
)

const key = "the 32 bytes of an endpoint key."

// headersOf returns the headers of a delivery that is signed now, with one of them replaced.
func headersOf(body, name, value string) http.Header {
	sent := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("evt_1." + sent + "." + body))
	h := http.Header{}
	h.Set("Webhook-Id", "evt_1")
	h.Set("Webhook-Timestamp", sent)
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	if name != "" {
		h.Set(name, value)
	}
	return h
}

func TestVerifyWebhookTellsWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	const body = `{"event":"stream.started"}`
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(key))
	event, err := showfloor.VerifyWebhook(headersOf(body, "", ""), []byte(body), secret)
	require.NoError(t, err)
	name, err := event.Discriminator()
	require.NoError(t, err)
	require.Equal(t, "stream.started", name)

	for what, c := range map[string]struct {
		body   string
		header http.Header
	}{
		"a body that is no JSON":        {`{"event":`, headersOf(`{"event":`, "", "")},
		"another body":                  {"{}", headersOf(body, "", "")},
		"a signature that is no base64": {body, headersOf(body, "Webhook-Signature", "v1,%%%")},
		"an empty signature":            {body, headersOf(body, "Webhook-Signature", "")},
		"a time that is no number":      {body, headersOf(body, "Webhook-Timestamp", "today")},
		"an old delivery":               {body, headersOf(body, "Webhook-Timestamp", "1")},
		"no headers":                    {body, http.Header{}},
	} {
		_, err := showfloor.VerifyWebhook(c.header, []byte(c.body), secret)
		require.ErrorIs(t, err, showfloor.ErrInvalidDelivery, what)
	}
	for _, wrong := range []string{"", "whsec_", "whsec_%%%", secret + "§"} {
		_, err := showfloor.VerifyWebhook(headersOf(body, "", ""), []byte(body), wrong)
		require.ErrorIs(t, err, showfloor.ErrInvalidSecret, wrong)
		require.NotErrorIs(t, err, showfloor.ErrInvalidDelivery, wrong)
	}
}
