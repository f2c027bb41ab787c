package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// secretPrefix begins every signing secret; what follows is base64, as Standard
// Webhooks has it.
const secretPrefix = "whsec_"

// secretBytes is the entropy of a secret.
const secretBytes = 32

// message is what one attempt sends.
type message struct {
	DeliveryID, EventID, Event string
	Secret                     string
	Body                       []byte
}

// sign sets the headers of an attempt: ours, keyed with the secret as the
// tenant sees it, and those of Standard Webhooks, keyed with the decoded bytes.
func sign(h http.Header, m message, now time.Time) {
	h.Set("Content-Type", "application/json")
	h.Set("X-Service-Event", m.Event)
	h.Set("X-Service-Delivery", m.DeliveryID)
	h.Set("X-Service-Signature", "sha256="+hex.EncodeToString(mac([]byte(m.Secret), m.Body)))

	seconds := strconv.FormatInt(now.Unix(), 10)
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Secret, secretPrefix))
	if err != nil {
		key = []byte(m.Secret) // not a secret that we made; still worth a signature
	}
	signed := append([]byte(m.EventID+"."+seconds+"."), m.Body...)
	h.Set("Webhook-Id", m.EventID)
	h.Set("Webhook-Timestamp", seconds)
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac(key, signed)))
}

func mac(key, data []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(data)
	return m.Sum(nil)
}
