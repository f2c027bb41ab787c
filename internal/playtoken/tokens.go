// Package playtoken makes and checks the tokens of playback URLs. It asks nobody whether
// a stream is on air, or where: any node can check any token.
//
// A token is base64url, without padding, of
//
//	version  1 byte, 1
//	kind     1 byte: 1 a playback URL, 2 a viewer's session, 3 a playback URL for a room
//	key      4 bytes: which key signed it
//	time     5 bytes, seconds since 1970: when a playback URL expires, or a session began
//	viewer   8 bytes: who watches; 0 in a playback URL that is nobody's in particular
//	stream   the stream's id
//	code     16 bytes: HMAC-SHA256 over what stands before it, truncated
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

	"showfloor/internal/signing"
)

const (
	version = 1

	kindPlayback = 1
	kindSession  = 2
	kindRoom     = 3

	header  = 1 + 1 + 4 + 5 + 8
	macSize = 16
	// maxToken bounds a token in bytes of base64.
	maxToken = 256
)

// ErrInvalid is the same for every fault of a token, so that guessing reveals nothing.
var ErrInvalid = errors.New("this playback URL is not valid")

// Keys are the keys that sign. They must not wait for a database as long as a token's key is
// known.
type Keys interface {
	NewestCodeKey() signing.CodeKey
	FindCodeKey(ctx context.Context, id uint32) (signing.CodeKey, bool)
}

// Tokens makes and checks tokens.
type Tokens struct{ keys Keys }

// New makes Tokens.
func New(keys Keys) *Tokens { return &Tokens{keys: keys} }

// token is what all kinds say.
type token struct {
	kind     byte
	streamID string
	viewer   uint64
	time     time.Time
}

// SignPlayback makes the token of a URL that opens a stream until it expires, in whole
// seconds.
func (t *Tokens) SignPlayback(streamID string, expires time.Time) string {
	return t.sign(token{kind: kindPlayback, streamID: streamID, time: expires})
}

// CheckPlayback tells which stream a playback token opens, and until when. An expired
// token is no error: what it still opens is for the caller to say.
func (t *Tokens) CheckPlayback(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	v, err := t.read(ctx, kindPlayback, text)
	return v.streamID, v.time, err
}

// SignRoomPlayback makes the token of a playback URL for the participants of the stream's
// room. It expires at a time in whole seconds, and nothing that was opened with it outlives
// it, so that a participant who leaves the room can't go on watching.
func (t *Tokens) SignRoomPlayback(streamID string, expires time.Time) string {
	return t.sign(token{kind: kindRoom, streamID: streamID, time: expires})
}

// CheckRoomPlayback is CheckPlayback for tokens of SignRoomPlayback.
func (t *Tokens) CheckRoomPlayback(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	v, err := t.read(ctx, kindRoom, text)
	return v.streamID, v.time, err
}

// SignSession makes the token of a viewer's session with a stream, which began at a time
// in whole seconds.
func (t *Tokens) SignSession(streamID string, viewer uint64, began time.Time) string {
	return t.sign(token{kind: kindSession, streamID: streamID, viewer: viewer, time: began})
}

// CheckSession tells whose session with that stream a token is, and when it began.
func (t *Tokens) CheckSession(ctx context.Context, streamID, text string) (viewer uint64, began time.Time, err error) {
	v, err := t.read(ctx, kindSession, text)
	if err == nil && v.streamID != streamID {
		err = ErrInvalid
	}
	return v.viewer, v.time, err
}

func (t *Tokens) sign(v token) string {
	key := t.keys.NewestCodeKey()
	b := append(make([]byte, 0, header+len(v.streamID)+macSize), version, v.kind)
	b = binary.BigEndian.AppendUint32(b, key.ID)
	seconds := uint64(max(v.time.Unix(), 0))
	b = append(b, byte(seconds>>32))
	b = binary.BigEndian.AppendUint32(b, uint32(seconds))
	b = binary.BigEndian.AppendUint64(b, v.viewer)
	b = append(b, v.streamID...)
	return base64.RawURLEncoding.EncodeToString(append(b, mac(key, b)...))
}

func (t *Tokens) read(ctx context.Context, kind byte, text string) (token, error) {
	if len(text) > maxToken || strings.ContainsAny(text, "\r\n") { // which the decoder leaves out
		return token{}, ErrInvalid
	}
	// Strict: one text for one token; bits that mean nothing must be 0.
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) <= header+macSize || b[0] != version || b[1] != kind {
		return token{}, ErrInvalid
	}
	key, ok := t.keys.FindCodeKey(ctx, binary.BigEndian.Uint32(b[2:]))
	signed := b[:len(b)-macSize]
	if !ok || !hmac.Equal(b[len(signed):], mac(key, signed)) {
		return token{}, ErrInvalid
	}
	seconds := int64(b[6])<<32 | int64(binary.BigEndian.Uint32(b[7:]))
	return token{
		kind: kind, streamID: string(signed[header:]),
		viewer: binary.BigEndian.Uint64(b[11:]), time: time.Unix(seconds, 0).UTC(),
	}, nil
}

func mac(key signing.CodeKey, signed []byte) []byte {
	m := hmac.New(sha256.New, key.Secret)
	m.Write(signed)
	return m.Sum(nil)[:macSize]
}

// Late is Tokens for those who are made before them.
type Late func() *Tokens

// CheckPlayback is Tokens.CheckPlayback.
func (l Late) CheckPlayback(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	return l().CheckPlayback(ctx, text)
}

// CheckRoomPlayback is Tokens.CheckRoomPlayback.
func (l Late) CheckRoomPlayback(ctx context.Context, text string) (streamID string, expires time.Time, err error) {
	return l().CheckRoomPlayback(ctx, text)
}

// SignSession is Tokens.SignSession.
func (l Late) SignSession(streamID string, viewer uint64, began time.Time) string {
	return l().SignSession(streamID, viewer, began)
}

// CheckSession is Tokens.CheckSession.
func (l Late) CheckSession(ctx context.Context, streamID, text string) (viewer uint64, began time.Time, err error) {
	return l().CheckSession(ctx, streamID, text)
}
