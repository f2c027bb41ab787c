package hls

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net/http"
	"net/url"
	"time"

	"showfloor/internal/media/mediahttp"
)

// Tokens checks the tokens of playback URLs. It is called for every request, so for a valid token
// it must not wait for a database.
type Tokens interface {
	// CheckPlayback returns the stream that the token in a path opens, and when the token expires
	// (zero: never). An expired token is no error.
	CheckPlayback(ctx context.Context, token string) (streamID string, expires time.Time, err error)
	// CheckRoomPlayback is like CheckPlayback, for the tokens of participants of the stream's room.
	// A session that was opened with such a token ends with it.
	CheckRoomPlayback(ctx context.Context, token string) (streamID string, expires time.Time, err error)
	// CheckPicture is like CheckPlayback, for the tokens of admins. They open the stream's picture only.
	CheckPicture(ctx context.Context, token string) (streamID string, expires time.Time, err error)
	// SignSession returns the token of a viewer's session, which is a part of playlists' URLs.
	SignSession(streamID string, viewer uint64, began time.Time) string
	// CheckSession returns the viewer of a session token for the stream, and when the session
	// began, in whole seconds.
	CheckSession(ctx context.Context, streamID, token string) (viewer uint64, began time.Time, err error)
}

// visit is a request with a valid signature in its playback token.
type visit struct {
	w        http.ResponseWriter
	r        *http.Request
	at       location
	query    url.Values
	streamID string
	expired  bool
	room     bool // the token is for participants of the stream's room
	admin    bool // the token is for the platform's admins: the bytes are not the tenant's usage
	session  session
	// node is set for a request of another node, which has checked the viewer's tokens.
	node bool
}

// session is a viewer's session, from the first index.m3u8 to the end of the broadcast.
type session struct {
	token  string // empty without a valid session token
	viewer uint64
	began  time.Time // noBroadcast for a session that was opened with a room's token
}

// noBroadcast is the start time in the sessions of room participants. It is before every broadcast,
// so that such a session doesn't extend an expired playback URL.
func noBroadcast() time.Time { return time.Unix(0, 0) }

// visit checks a request's tokens.
func (s *Server) visit(w http.ResponseWriter, r *http.Request) (*visit, *mediahttp.Problem) {
	at, ok := parseLocation(r.URL.Path)
	if !ok {
		return nil, mediahttp.NotFound()
	}
	streamID, expires, err := s.config.Tokens.CheckPlayback(r.Context(), at.token)
	room := false
	if err != nil {
		streamID, expires, err = s.config.Tokens.CheckRoomPlayback(r.Context(), at.token)
		room = true
	}
	admin := false
	if err != nil && at.kind == thumbnailFile {
		streamID, expires, err = s.config.Tokens.CheckPicture(r.Context(), at.token)
		room, admin = false, true
	}
	if err != nil {
		return nil, mediahttp.Invalid()
	}
	v := &visit{w: w, r: r, at: at, streamID: streamID, room: room, admin: admin}
	v.expired = !expires.IsZero() && !s.config.Now().Before(expires)
	if v.room && v.expired {
		return nil, mediahttp.Expired() // media too: its file names can be guessed
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
		return nil, mediahttp.Expired()
	}
	return v, nil
}

// follows reports whether the viewer may load a broadcast's playlists: the playback token is valid,
// or it was when the viewer's session began in this broadcast.
func (v *visit) follows(m *muxer) bool { return !v.expired || v.session.in(m.stream.Began) }

// in reports whether the session began in the broadcast that started at the given time.
func (x session) in(broadcast time.Time) bool {
	return x.token != "" && !x.began.Before(broadcast.Truncate(time.Second))
}

// begin gives the visit a session in a broadcast, unless it has one. It refuses when the viewer's network has too many viewers in this
// audience, or the stream's tenant as many as its plan allows. Requests of other nodes get no session: the other node knows the viewer.
func (s *Server) begin(v *visit, broadcast time.Time, in *audience) *mediahttp.Problem {
	if v.node || v.session.in(broadcast) || v.room && v.session.token != "" {
		return nil
	}
	if p := in.admit(s.network(v.r), s.config.Now()); p != nil {
		return p
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	viewer := binary.BigEndian.Uint64(id[:])
	if p := in.reserve(v.r.Context(), viewerName(viewer), s.network(v.r)); p != nil {
		return p
	}
	v.session.viewer, v.session.began = viewer, s.config.Now()
	if v.room {
		v.session.began = noBroadcast()
	}
	v.session.token = s.config.Tokens.SignSession(v.streamID, v.session.viewer, v.session.began)
	return nil
}
