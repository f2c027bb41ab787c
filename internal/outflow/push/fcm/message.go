package fcm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"showfloor/internal/outflow/push/provider"
)

// MaxMessage is the maximum size of a message's notification and data in bytes.
const MaxMessage = 4096

// fromKey replaces the key "from" of the data, which FCM refuses as reserved.
const fromKey = "fromUserId"

// longestTTL is the longest time that FCM keeps a message.
const longestTTL = 28 * 24 * time.Hour

// message is the part of FCM's Message (HTTP v1) that is the same for all devices of a platform.
type message struct {
	Notification *notification     `json:"notification,omitempty"`
	Data         map[string]string `json:"data,omitempty"`
	Android      *android          `json:"android,omitempty"`
	Webpush      *webpush          `json:"webpush,omitempty"`
}

type notification struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
	Tag   string `json:"tag,omitempty"`
}

type android struct {
	Priority     string        `json:"priority"`
	TTL          string        `json:"ttl"`
	CollapseKey  string        `json:"collapse_key,omitempty"`
	Notification *notification `json:"notification,omitempty"`
}

type webpush struct {
	Headers      map[string]string `json:"headers"`
	Notification *notification     `json:"notification,omitempty"`
}

// Encoded is a message for all devices of a platform.
type Encoded struct {
	rest []byte // the message's fields after the token
}

// Encode writes a message. An Android app gets the data of calls and silent messages without a notification: only then does the system
// start it, so that it can ring.
func Encode(p provider.Platform, m provider.Message, now time.Time) (Encoded, error) {
	out := message{Data: data(m.Data)}
	ttl := int64(min(max(m.ExpiresAt.Sub(now), 0), longestTTL) / time.Second)
	if m.Kind == provider.Alert || m.Kind == provider.Call && p == provider.Web {
		out.Notification = &notification{Title: m.Title, Body: m.Body}
	}
	if p == provider.Web {
		out.Webpush = &webpush{Headers: map[string]string{"TTL": strconv.FormatInt(ttl, 10), "Urgency": pick(m.High, "high", "normal")}}
		if m.CollapseID != "" && out.Notification != nil {
			out.Webpush.Notification = &notification{Title: m.Title, Body: m.Body, Tag: m.CollapseID}
		}
	} else {
		out.Android = &android{Priority: pick(m.High, "high", "normal"), TTL: strconv.FormatInt(ttl, 10) + "s"}
		switch {
		case m.CollapseID == "":
		case out.Notification != nil:
			out.Android.Notification = &notification{Tag: m.CollapseID}
		default:
			// Of messages with a collapse key, FCM keeps four different ones for a device that is offline: enough for calls.
			out.Android.CollapseKey = m.CollapseID
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return Encoded{}, fmt.Errorf("encode message: %w", err)
	}
	return Encoded{text[1:]}, nil
}

func pick(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// data renames the one reserved key that messages of this server use.
func data(in map[string]string) map[string]string {
	from, has := in["from"]
	if !has {
		return in
	}
	out := make(map[string]string, len(in))
	for key, value := range in {
		if key != "from" {
			out[key] = value
		}
	}
	out[fromKey] = from
	return out
}

// For returns the body of a request for one device.
func (e Encoded) For(token string) ([]byte, error) {
	quoted, err := json.Marshal(token)
	if err != nil {
		return nil, fmt.Errorf("encode token: %w", err)
	}
	return bytes.Join([][]byte{[]byte(`{"message":{"token":`), quoted, []byte(","), e.rest, []byte("}")}, nil), nil
}

// Size returns the number of bytes that FCM counts: those of the notification's texts and of the data.
func Size(m provider.Message) int {
	n := len(m.Title) + len(m.Body)
	for key, value := range m.Data {
		n += len(key) + len(value)
	}
	return n
}
