package fcm

import (
	"encoding/json"
	"net/http"

	"showfloor/internal/outflow/push/provider"
)

// Reasons by which an answer is understood; see "ErrorCode" in the reference of FCM's HTTP v1 API, and google.rpc.Code.
const (
	unregistered     = "UNREGISTERED"
	senderIDMismatch = "SENDER_ID_MISMATCH"
	// thirdPartyAuth: the token is of an iOS device or browser whose own service refuses the project's key for it.
	thirdPartyAuth = "THIRD_PARTY_AUTH_ERROR"
)

// answerOf returns the meaning of a reply. The reason is FCM's own error code, or else the status in words.
func answerOf(r provider.Reply) provider.Answer {
	a := provider.Answer{Status: r.Status, RetryAfter: r.RetryAfter}
	if r.Status >= http.StatusOK && r.Status < http.StatusMultipleChoices {
		a.Outcome = provider.Delivered
		return a
	}
	var body struct {
		Error struct {
			Status  string `json:"status"`
			Details []struct {
				ErrorCode string `json:"errorCode"`
			} `json:"details"`
		} `json:"error"`
	}
	_ = json.Unmarshal(r.Body, &body) // a body of another form has no reason
	reason := body.Error.Status
	for _, d := range body.Error.Details {
		if d.ErrorCode != "" {
			reason = d.ErrorCode
		}
	}
	a.Reason = provider.Reason(reason)
	a.Outcome = outcomeOf(r.Status, reason)
	return a
}

func outcomeOf(status int, reason string) provider.Outcome {
	switch {
	case status == http.StatusNotFound && reason == unregistered: // a bare NOT_FOUND may be of the project
		return provider.Stale
	case status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return provider.Throttled
	case reason == senderIDMismatch, reason == thirdPartyAuth: // 403 and 401, but about the token alone
		return provider.Rejected
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return provider.CredentialFault
	}
	return provider.Rejected
}
