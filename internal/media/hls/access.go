package hls

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net/http"
	"net/url"
	"time"
)

// Tokens checks the tokens of playback URLs. Every request calls it, so it must not wait
// for a database while nothing is wrong with a token.
type Tokens interface {
	// CheckPlayback tells which stream the token in a path opens, and when it expires (zero:
	// never). It returns an expired token without an error.
	CheckPlayback(ctx context.Context, token string) (streamID string, expires time.Time, err error)
	// CheckRoomPlayback is CheckPlayback for the tokens that participants of the stream's room
	// get. Nothing opened with such a token outlives it.
	CheckRoomPlayback(ctx context.Context, token string) (streamID string, expires time.Time, err error)
	// SignSession makes the token of a viewer's session, which is a part of playlists' URLs.
	SignSession(streamID string, viewer uint64, began time.Time) string
	// CheckSession tells whose session with the stream a token is, and when it began, in
	// whole seconds.
	CheckSession(ctx context.Context, streamID, token string) (viewer uint64, began time.Time, err error)
}

// visit is a request whose playback token was signed here.
type visit struct {
	w        http.ResponseWriter
	r        *http.Request
	at       location
	query    url.Values
	streamID string
	expired  bool
	room     bool // the token is one of the stream's room
	session  session
	// node is set for a request of another node, which has checked the viewer's tokens.
	node bool
}

// session is one viewer's, from the first index.m3u8 to the end of the broadcast.
type session struct {
	token  string // "": there is none, or not one of ours
	viewer uint64
	began  time.Time // noBroadcast for one opened with a room's token
}

// noBroadcast is the start signed into sessions of room participants: before every
// broadcast, so that such a session doesn't extend an expired playback URL.
func noBroadcast() time.Time { return time.Unix(0, 0) }

// visit checks a request's tokens.
func (s *Server) visit(w http.ResponseWriter, r *http.Request) (*visit, *refusal) {
	at, ok := parseLocation(r.URL.Path)
	if !ok {
		return nil, notFound()
	}
	streamID, expires, err := s.config.Tokens.CheckPlayback(r.Context(), at.token)
	room := false
	if err != nil {
		streamID, expires, err = s.config.Tokens.CheckRoomPlayback(r.Context(), at.token)
		room = true
	}
	if err != nil {
		return nil, refuse(http.StatusForbidden, "invalid_playback_token", "the playback URL is not valid")
	}
	v := &visit{w: w, r: r, at: at, streamID: streamID, room: room, expired: !expires.IsZero() && !s.config.Now().Before(expires)}
	if v.room && v.expired {
		return nil, expired() // media too: its names can be guessed
	}
	if !at.playlist() {
		return v, nil
	}
	if v.query, err = url.ParseQuery(r.URL.RawQuery); err != nil {
		return nil, badReload()
	}
	if token := v.query.Get("viewer"); token != "" {
		if viewer, began, err := s.config.Tokens.CheckSession(r.Context(), streamID, token); err == nil {
			v.session = session{token, viewer, began}
		}
	}
	if v.expired && v.session.token == "" {
		return nil, expired()
	}
	return v, nil
}

// follows tells whether the viewer may have a broadcast's playlists: the playback token
// is still good, or it was when the viewer's session began in this broadcast.
func (v *visit) follows(m *muxer) bool { return !v.expired || v.session.in(m.stream.Began) }

// in tells whether a session began in the broadcast that began at a time.
func (x session) in(broadcast time.Time) bool {
	return x.token != "" && !x.began.Before(broadcast.Truncate(time.Second))
}

// begin gives the visit a session in a broadcast unless it has one. It refuses when the viewer's
// network has too many in this audience. The viewers of another node's requests are not known here.
func (s *Server) begin(v *visit, broadcast time.Time, in *audience) *refusal {
	if v.node || v.session.in(broadcast) || v.room && v.session.token != "" {
		return nil
	}
	if p := in.admit(s.network(v.r), s.config.Now()); p != nil {
		return p
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	v.session.viewer, v.session.began = binary.BigEndian.Uint64(id[:]), s.config.Now()
	if v.room {
		v.session.began = noBroadcast()
	}
	v.session.token = s.config.Tokens.SignSession(v.streamID, v.session.viewer, v.session.began)
	return nil
}
