package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/base/secret"
)

// secretPrefix begins every signing secret; base64 follows, as in Standard
// Webhooks.
const secretPrefix = "whsec_"

// secretBytes is the number of random bytes in a secret.
const secretBytes = 32

// newSecret makes a signing secret, in the form that the API shows to the tenant.
func newSecret() string {
	random := make([]byte, secretBytes)
	rand.Read(random) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(random)
}

// message is the request of one attempt.
type message struct {
	DeliveryID, EventID, Event string
	// Sequence is the event's number within its subject.
	Sequence int64
	Secret   string
	// Previous is the replaced secret while it signs too; else empty.
	Previous string
	Body     []byte
}

// sign sets the headers of an attempt: ours, signed with the secret in its
// displayed form, and those of Standard Webhooks, signed with the decoded bytes.
// Our header holds one signature, so the previous secret's signature has its own
// header; a header of Standard Webhooks may list several.
func sign(h http.Header, m message, now time.Time) {
	h.Set("Content-Type", "application/json")
	h.Set("X-Service-Event", m.Event)
	h.Set("X-Service-Event-Id", m.EventID)
	h.Set("X-Service-Sequence", strconv.FormatInt(m.Sequence, 10))
	h.Set("X-Service-Delivery", m.DeliveryID)
	h.Set("X-Service-Signature", secret.Sign([]byte(m.Secret), m.Body))

	seconds := strconv.FormatInt(now.Unix(), 10)
	signed := append([]byte(m.EventID+"."+seconds+"."), m.Body...)
	standard := standardSignature(m.Secret, signed)
	if m.Previous != "" {
		h.Set("X-Service-Signature-Previous", secret.Sign([]byte(m.Previous), m.Body))
		standard += " " + standardSignature(m.Previous, signed)
	}
	h.Set("Webhook-Id", m.EventID)
	h.Set("Webhook-Timestamp", seconds)
	h.Set("Webhook-Signature", standard)
}

func standardSignature(secret string, signed []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil {
		key = []byte(secret) // not a secret of our format; sign with its text
	}
	return "v1," + base64.StdEncoding.EncodeToString(mac(key, signed))
}

func mac(key, data []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(data)
	return m.Sum(nil)
}

// Forwarded is a copy of an event that a developer's machine sends to a local server.
type Forwarded struct {
	EventID, Event string
	Sequence       int64
	Secret         string
	Body           []byte
}

// SignForwarded sets the same headers as on a delivery. The delivery's id is the event's.
func SignForwarded(h http.Header, f Forwarded, now time.Time) {
	sign(h, message{
		DeliveryID: f.EventID, EventID: f.EventID, Event: f.Event, Sequence: f.Sequence, Secret: f.Secret, Body: f.Body,
	}, now)
}

// NewForwardingSecret returns a signing secret for forwarded events.
func NewForwardingSecret() string { return newSecret() }
