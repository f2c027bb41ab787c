// Package playtoken makes and checks the tokens of playback URLs. It makes no query, not even
// whether a stream is on air or where: any node can check any token.
//
// A token is base64url, without padding, of
//
//	version  1 byte, 1
//	kind     1 byte: 1 a playback URL, 2 a viewer's session, 3 a playback URL for a room,
//	         4 a playback URL of a recording, 5 the URL of a live stream's picture for admins
//	key      4 bytes: the id of the key that signed it
//	time     5 bytes, seconds since 1970: when a playback URL expires, or a session began
//	viewer   8 bytes: id of the viewer; 0 in a playback URL that isn't for one viewer
//	stream   the stream's id; in kind 4 the recording's
//	code     16 bytes: HMAC-SHA256 over the bytes before it, truncated
//
// numbers in big-endian.
package playtoken

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"showfloor/internal/tenancy/signing"
)

const (
	version = 1

	kindPlayback  = 1
	kindSession   = 2
	kindRoom      = 3
	kindRecording = 4
	kindPicture   = 5

	header  = 1 + 1 + 4 + 5 + 8
	macSize = 16
	// maxToken bounds a token in bytes of base64.
	maxToken = 256
)

// ErrInvalid is the same error for every fault of a token, so that guessing reveals nothing.
var ErrInvalid = errors.New("this playback URL is not valid")

// Keys are the signing keys. The methods must not wait for the database if the key of the
// token is known.
type Keys interface {
	NewestCodeKey() signing.CodeKey
	FindCodeKey(ctx context.Context, id uint32) (signing.CodeKey, bool)
}

// Tokens makes and checks tokens.
type Tokens struct{ keys Keys }

// New makes Tokens.
func New(keys Keys) *Tokens { return &Tokens{keys: keys} }

// token holds the fields that all kinds of tokens have.
type token struct {
	kind       byte
	resourceID string // of the stream or recording
	viewer     uint64
	time       time.Time
}

// SignPlayback makes the token of a URL that opens a stream until expires, in whole
// seconds.
func (t *Tokens) SignPlayback(streamID string, expires time.Time) string {
	return t.sign(token{kind: kindPlayback, resourceID: streamID, time: expires})
}

// CheckPlayback returns the stream that a playback token opens, and the time of its expiry.
// An expired token is not an error: the caller decides what it still opens.
func (t *Tokens) CheckPlayback(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	v, err := t.read(ctx, kindPlayback, text)
	return v.resourceID, v.time, err
}

// SignRoomPlayback makes the token of a playback URL for the participants of the stream's
// room. expires is in whole seconds. Sessions that were opened with the token end with it, so
// that a participant who leaves the room can't continue to watch.
func (t *Tokens) SignRoomPlayback(streamID string, expires time.Time) string {
	return t.sign(token{kind: kindRoom, resourceID: streamID, time: expires})
}

// CheckRoomPlayback is CheckPlayback for tokens of SignRoomPlayback.
func (t *Tokens) CheckRoomPlayback(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	v, err := t.read(ctx, kindRoom, text)
	return v.resourceID, v.time, err
}

// SignRecording makes the token of a URL that plays a recording until expires, in whole seconds.
func (t *Tokens) SignRecording(recordingID string, expires time.Time) string {
	return t.sign(token{kind: kindRecording, resourceID: recordingID, time: expires})
}

// CheckRecording returns the recording that a token of SignRecording plays, and the time of its
// expiry. An expired token is not an error: media files are served for longer than playlists.
func (t *Tokens) CheckRecording(ctx context.Context, text string) (recordingID string, expires time.Time, err error) {
	v, err := t.read(ctx, kindRecording, text)
	return v.resourceID, v.time, err
}

// SignPicture makes the token of a URL that shows the newest picture of a live stream, and nothing else, until expires, in whole
// seconds. It is for the platform's admins: their downloads are not the tenant's usage.
func (t *Tokens) SignPicture(streamID string, expires time.Time) string {
	return t.sign(token{kind: kindPicture, resourceID: streamID, time: expires})
}

// CheckPicture is CheckPlayback for tokens of SignPicture.
func (t *Tokens) CheckPicture(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	v, err := t.read(ctx, kindPicture, text)
	return v.resourceID, v.time, err
}

// SignSession makes the token of a viewer's session with a stream, which began at a time
// in whole seconds.
func (t *Tokens) SignSession(streamID string, viewer uint64, began time.Time) string {
	return t.sign(token{kind: kindSession, resourceID: streamID, viewer: viewer, time: began})
}

// CheckSession returns the viewer of a session token for that stream, and the session's beginning.
func (t *Tokens) CheckSession(ctx context.Context, streamID, text string) (viewer uint64, began time.Time, err error) {
	v, err := t.read(ctx, kindSession, text)
	if err == nil && v.resourceID != streamID {
		err = ErrInvalid
	}
	return v.viewer, v.time, err
}

func (t *Tokens) sign(v token) string {
	key := t.keys.NewestCodeKey()
	b := append(make([]byte, 0, header+len(v.resourceID)+macSize), version, v.kind)
	b = binary.BigEndian.AppendUint32(b, key.ID)
	seconds := uint64(max(v.time.Unix(), 0))
	b = append(b, byte(seconds>>32))
	b = binary.BigEndian.AppendUint32(b, uint32(seconds))
	b = binary.BigEndian.AppendUint64(b, v.viewer)
	b = append(b, v.resourceID...)
	return base64.RawURLEncoding.EncodeToString(append(b, mac(key, b)...))
}

func (t *Tokens) read(ctx context.Context, kind byte, text string) (token, error) {
	b := decode(text)
	if b == nil || b[1] != kind {
		return token{}, ErrInvalid
	}
	key, ok := t.keys.FindCodeKey(ctx, binary.BigEndian.Uint32(b[2:]))
	signed := b[:len(b)-macSize]
	if !ok || !hmac.Equal(b[len(signed):], mac(key, signed)) {
		return token{}, ErrInvalid
	}
	seconds := int64(b[6])<<32 | int64(binary.BigEndian.Uint32(b[7:]))
	return token{
		kind: kind, resourceID: string(signed[header:]),
		viewer: binary.BigEndian.Uint64(b[11:]), time: time.Unix(seconds, 0).UTC(),
	}, nil
}

// HasFormat reports whether a text has the format of a token, valid or not. URLs may have a parameter of the same name
// with another service's token.
func HasFormat(text string) bool {
	b := decode(text)
	return b != nil && b[1] >= kindPlayback && b[1] <= kindPicture
}

// decode returns the bytes of a token, which are nil if the text has another format.
func decode(text string) []byte {
	if len(text) > maxToken || strings.ContainsAny(text, "\r\n") { // which the decoder leaves out
		return nil
	}
	// Strict, so that a token has only one valid text: unused bits must be 0.
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) <= header+macSize || b[0] != version {
		return nil
	}
	return b
}

func mac(key signing.CodeKey, signed []byte) []byte {
	m := hmac.New(sha256.New, key.Secret)
	m.Write(signed)
	return m.Sum(nil)[:macSize]
}

// Late returns Tokens. It is for services that are created before the Tokens.
type Late func() *Tokens

// CheckPlayback is Tokens.CheckPlayback.
func (l Late) CheckPlayback(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	return l().CheckPlayback(ctx, text)
}

// CheckRoomPlayback is Tokens.CheckRoomPlayback.
func (l Late) CheckRoomPlayback(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	return l().CheckRoomPlayback(ctx, text)
}

// CheckPicture is Tokens.CheckPicture.
func (l Late) CheckPicture(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	return l().CheckPicture(ctx, text)
}

// CheckRecording is Tokens.CheckRecording.
func (l Late) CheckRecording(ctx context.Context, text string) (recordingID string, expires time.Time, err error) {
	return l().CheckRecording(ctx, text)
}

// SignSession is Tokens.SignSession.
func (l Late) SignSession(streamID string, viewer uint64, began time.Time) string {
	return l().SignSession(streamID, viewer, began)
}

// CheckSession is Tokens.CheckSession.
func (l Late) CheckSession(ctx context.Context, streamID, text string) (viewer uint64, began time.Time, err error) {
	return l().CheckSession(ctx, streamID, text)
}
