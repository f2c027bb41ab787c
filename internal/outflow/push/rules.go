package push

import (
	"slices"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/push/apns"
	"showfloor/internal/outflow/push/fcm"
	"showfloor/internal/outflow/push/provider"
)

const (
	// maxTries is the number of runs after which a throttled or unreachable device is no longer tried.
	maxTries = 8
	// firstPause is the pause after the first run, which doubles with each one, up to longestPause.
	firstPause, longestPause = 2 * time.Second, 5 * time.Minute
	// withdrawnFor is how long a VoIP push that ends the ringing is kept for a device that is offline. Later it would make the app report a
	// call that is long over.
	withdrawnFor = time.Minute
)

// pauseAfter returns the pause after a number of runs, or the longer one that a provider asked for.
func pauseAfter(tries int, asked time.Duration) time.Duration {
	return max(min(firstPause<<min(tries, 20), longestPause), asked)
}

// checkMessage refuses a message that a provider would refuse.
func checkMessage(m provider.Message) error {
	for key := range m.Data {
		switch {
		case key == "aps", key == "from", key == "message_type", strings.HasPrefix(key, "google."), strings.HasPrefix(key, "gcm."):
			return problem.BadField("data", "the key %q is reserved for the providers", key)
		}
	}
	payload, err := apns.Payload(m)
	if err != nil {
		return err
	}
	if len(payload) > apns.MaxPayload || fcm.Size(m) > fcm.MaxMessage {
		return problem.BadField("body", "the title, the body and the data exceed %d bytes together", apns.MaxPayload)
	}
	return nil
}

// recipients selects from a user's devices those that receive a push. Calls go to the VoIP devices of iOS if there are any, or else to
// the other iOS devices, and to all Android devices and browsers. Everything else goes to all devices that are not VoIP.
func recipients(a Args, devices []db.PushDevice) []db.PushDevice {
	voip := func(d db.PushDevice) bool { return d.Kind == VoIP }
	if !a.isCall() {
		return slices.DeleteFunc(devices, voip)
	}
	if !slices.ContainsFunc(devices, voip) {
		return devices
	}
	return slices.DeleteFunc(devices, func(d db.PushDevice) bool { return d.Platform == string(provider.IOS) && !voip(d) })
}

// messageFor returns a push in the form for one device.
func messageFor(a Args, d db.PushDevice, now time.Time) provider.Message {
	m := provider.Message{
		Kind: provider.Alert, Title: a.Title, Body: a.Body, Data: a.Data, High: a.Priority == High, ExpiresAt: a.ExpiresAt.Time,
		CollapseID: a.MessageID,
	}
	if !a.isCall() {
		return m
	}
	m.CollapseID = a.Data["sessionId"]
	text, video := textsFor(d.Locale), a.Data["kind"] == "video"
	switch {
	case a.Reason == Ringing:
		m.Kind, m.Body = provider.Call, text.ringing(video)
	case a.Reason == RingingOver, d.Kind == VoIP:
		m.Kind = provider.Silent
	default: // the app shows it in the place of the ringing
		m.Body = text.missed(video)
	}
	if latest := now.Add(withdrawnFor); a.withdraws() && d.Kind == VoIP && m.ExpiresAt.After(latest) {
		m.ExpiresAt = latest
	}
	return m
}
