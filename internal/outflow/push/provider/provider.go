// Package provider holds what the clients of both push providers share: the message, the meaning of an answer, and the connection.
package provider

import (
	"fmt"
	"time"
)

// Platform of a device.
type Platform string

// The platforms.
const (
	IOS     Platform = "ios"
	Android Platform = "android"
	Web     Platform = "web"
)

// Name of a provider, as PushProvider of the API has it.
type Name string

// The providers.
const (
	IOSPush   Name = "ios-push"
	CloudPush Name = "cloud-push"
)

// Of returns the provider of a platform.
func Of(p Platform) Name {
	if p == IOS {
		return IOSPush
	}
	return CloudPush
}

// Kind is what a device does with a message.
type Kind string

// The kinds.
const (
	// Alert shows the title and the body.
	Alert Kind = "alert"
	// Call makes the device ring.
	Call Kind = "call"
	// Silent reaches the app only.
	Silent Kind = "silent"
)

// Message is a push, the same for both providers.
type Message struct {
	Kind        Kind
	Title, Body string
	// Data is the app's.
	Data map[string]string
	// High wakes the device at once.
	High bool
	// ExpiresAt is the time after which the provider drops the message.
	ExpiresAt time.Time
	// CollapseID replaces an earlier message with the same id on the device; "" for none. At most 64 bytes.
	CollapseID string
}

// Outcome is the meaning of an answer, as PushOutcome of the API has it.
type Outcome string

// The outcomes.
const (
	// Delivered: the provider accepted the message.
	Delivered Outcome = "delivered"
	// Stale: the token is no longer valid.
	Stale Outcome = "stale"
	// Throttled: the provider is too busy, or limits the rate.
	Throttled Outcome = "throttled"
	// CredentialFault: the provider refuses the project's credentials. It says nothing about the token.
	CredentialFault Outcome = "credential_fault" //nolint:gosec // a name, no credential
	// Rejected: the provider refuses the message, or the token for this app.
	Rejected Outcome = "rejected"
	// Unreachable: there was no answer.
	Unreachable Outcome = "unreachable"
)

// Answer of a provider to one push.
type Answer struct {
	Outcome Outcome
	// Status is the HTTP status; 0 if there was no answer.
	Status int
	// Reason is the provider's own word for a failure, or the transport's error in words. It holds neither tokens nor addresses.
	Reason string
	// RetryAfter is the pause that a throttling provider asks for; 0 if it doesn't.
	RetryAfter time.Duration
	// StaleSince is the time since which the provider knows that the token is stale; zero if it doesn't say so.
	StaleSince time.Time
}

// Again reports whether another attempt makes sense.
func (a Answer) Again() bool { return a.Outcome == Throttled || a.Outcome == Unreachable }

// Words returns the meaning of the answer in a sentence.
func (a Answer) Words() string {
	switch a.Outcome {
	case Delivered:
		return "The provider accepted the message."
	case Stale:
		return "The token is no longer valid: " + a.reason()
	case Throttled:
		return "The provider is too busy or limits the rate: " + a.reason()
	case CredentialFault:
		return "The provider refused the credentials: " + a.reason()
	case Rejected:
		return "The provider refused the message: " + a.reason()
	case Unreachable:
		return "The provider gave no answer: " + a.reason()
	}
	return string(a.Outcome)
}

func (a Answer) reason() string {
	switch {
	case a.Reason == "":
		return fmt.Sprintf("status %d.", a.Status)
	case a.Status == 0:
		return a.Reason + "."
	default:
		return fmt.Sprintf("%s (status %d).", a.Reason, a.Status)
	}
}
