package sfu

import (
	"time"

	"showfloor/internal/media/sfu/bridge"
)

// codeWaitsForKeyFrame is the code of a fallback that ends with the stream's next key frame.
const codeWaitsForKeyFrame = "waiting_for_key_frame"

const (
	// renewEvery is the number of ticks (250 ms) between two checks of the expiry of playback URLs.
	// renewBefore is how long before its expiry a URL is replaced. A participant whose socket is
	// lost for ResumeFor (30 s) still gets the next URL in time.
	renewEvery  = 60
	renewBefore = 2 * time.Minute
)

// lack stores the reason why the room can't show a kind of the stream's media, nil for none, and
// notifies the members when the reason changes. The reason for missing video goes before that for
// missing audio.
func (r *room) lack(kind string, reason *bridge.Reason) {
	if reason == nil {
		delete(r.lacks, kind)
	} else {
		r.lacks[kind] = reason
	}
	now := r.lacks[kindVideo]
	if now == nil {
		now = r.lacks[kindAudio]
	}
	if now == r.reason {
		return
	}
	r.reason = now
	for _, m := range r.members {
		if !m.grant.waits() {
			m.p.box.post(func() { m.p.fallback.lack(now) })
		}
	}
}

// renewPlayback replaces playback URLs that are about to expire. It checks once every renewEvery
// ticks.
func (r *room) renewPlayback() {
	if r.ticks%renewEvery != 0 || r.kind != StreamRoom {
		return
	}
	for _, m := range r.members {
		m.p.box.post(m.p.fallback.renew)
	}
}

// fallback tells a participant of a stream's room to play the stream by HLS while the room can't
// show it. The peer's goroutine owns it.
type fallback struct {
	p *peer
	// reason is why the room can't show the whole stream to any participant; nil without one.
	reason *bridge.Reason
	// waits: this participant gets no video before the stream's next key frame.
	waits   bool
	sent    bridge.Reason // the last reason sent; zero for no fallback
	expires time.Time     // of the last playback URL sent
}

func (f *fallback) lack(reason *bridge.Reason) {
	f.reason = reason
	f.announce()
}

// wait sets whether the participant waits for a key frame.
func (f *fallback) wait(waits bool) {
	f.waits = waits
	f.announce()
}

// current returns why the participant should play HLS now; zero for no reason.
func (f *fallback) current() bridge.Reason {
	switch {
	case f.reason != nil:
		return *f.reason
	case f.waits:
		return bridge.Reason{Code: codeWaitsForKeyFrame, Text: "the picture begins with the encoder's next key frame: watch by HLS until then"}
	}
	return bridge.Reason{}
}

// announce sends the current fallback, or its end, if it has changed.
func (f *fallback) announce() {
	now := f.current()
	if now == f.sent {
		return
	}
	f.sent = now
	if now == (bridge.Reason{}) {
		f.p.send(encode(fallbackMessage{Type: typeFallback}))
		return
	}
	f.p.server.countFallback(now.Code)
	f.send()
}

func (f *fallback) send() {
	url, expires := f.p.server.config.Air.PlaybackURL(f.p.room.id)
	f.expires = expires
	f.p.send(encode(fallbackMessage{typeFallback, &wireFallback{f.sent.Code, f.sent.Text, url}}))
}

// renew sends a new URL when the participant's URL is about to expire.
func (f *fallback) renew() {
	if f.sent != (bridge.Reason{}) && f.p.server.config.Now().After(f.expires.Add(-renewBefore)) {
		f.send()
	}
}
