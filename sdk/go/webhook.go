package showfloor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"showfloor/gen/api"
)

// tolerance is the largest difference between the time of a delivery and this machine's clock, as Standard Webhooks advises.
const tolerance = 5 * time.Minute

var (
	// ErrInvalidDelivery is VerifyWebhook's error for a delivery that isn't from Showfloor, is too old, isn't JSON, or whose
	// secret was replaced. Answer 400.
	ErrInvalidDelivery = errors.New("invalid webhook delivery")
	// ErrInvalidSecret is VerifyWebhook's error for a secret that is not of the form whsec_…. The receiver's own configuration
	// is wrong, so don't answer 400.
	ErrInvalidSecret = errors.New("the webhook secret is not of the form whsec_…")
)

// VerifyWebhook checks the signature (Standard Webhooks) and the time of a webhook delivery, and returns its event. body is
// the raw body, secret the endpoint's (whsec_…). The event's Discriminator is its name; ignore names that you don't know.
// The method As<Name>Event, or ValueByDiscriminator, returns the typed event. The errors are ErrInvalidDelivery and
// ErrInvalidSecret.
func VerifyWebhook(header http.Header, body []byte, secret string) (api.WebhookEvent, error) {
	var event api.WebhookEvent
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) == 0 {
		return event, ErrInvalidSecret // without the cause, which may show a part of the secret
	}
	sent := header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(sent, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return event, fmt.Errorf("%w: the delivery is too old, or this clock is wrong", ErrInvalidDelivery)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(header.Get("Webhook-Id") + "." + sent + "."))
	mac.Write(body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.SplitSeq(header.Get("Webhook-Signature"), " ") {
		if !hmac.Equal([]byte(signature), []byte(want)) {
			continue
		}
		if err := json.Unmarshal(body, &event); err != nil {
			return event, fmt.Errorf("%w: %w", ErrInvalidDelivery, err)
		}
		return event, nil
	}
	return event, fmt.Errorf("%w: no signature is valid for this secret", ErrInvalidDelivery)
}
