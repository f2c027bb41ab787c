package apns

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/sideshow/apns2"

	"showfloor/internal/outflow/push/provider"
)

// answerOf returns the meaning of a reply, by the table of statuses and reasons in Apple's "Handling notification responses from APNs".
func answerOf(r provider.Reply) provider.Answer {
	a := provider.Answer{Status: r.Status, RetryAfter: r.RetryAfter}
	if r.Status == http.StatusOK {
		a.Outcome = provider.Delivered
		return a
	}
	var body struct {
		Reason string `json:"reason"`
		// Timestamp is in milliseconds since 1970, only with 410.
		Timestamp int64 `json:"timestamp"`
	}
	_ = json.Unmarshal(r.Body, &body) // a body of another form has no reason
	a.Reason = provider.Reason(body.Reason)
	a.Outcome = outcomeOf(r.Status, body.Reason)
	if r.Status == http.StatusGone && body.Timestamp > 0 {
		a.StaleSince = time.UnixMilli(body.Timestamp).UTC()
	}
	return a
}

func outcomeOf(status int, reason string) provider.Outcome {
	switch {
	case status == http.StatusGone && reason != "", reason == apns2.ReasonBadDeviceToken:
		return provider.Stale
	case status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return provider.Throttled
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return provider.CredentialFault
	case reason == apns2.ReasonBadTopic, reason == apns2.ReasonTopicDisallowed, reason == apns2.ReasonMissingTopic:
		return provider.CredentialFault // the bundle id isn't the key's
	}
	return provider.Rejected
}
