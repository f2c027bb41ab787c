package playtoken_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/tenancy/signing"
)

// ring is keys of which the newest is the last.
type ring []signing.CodeKey

func (r ring) NewestCodeKey() signing.CodeKey { return r[len(r)-1] }

func (r ring) FindCodeKey(_ context.Context, id uint32) (signing.CodeKey, bool) {
	for _, k := range r {
		if k.ID == id {
			return k, true
		}
	}
	return signing.CodeKey{}, false
}

var (
	noon     = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	oldKey   = signing.CodeKey{ID: 1, Secret: []byte("old")}
	newKey   = signing.CodeKey{ID: 2, Secret: []byte("new")}
	otherKey = signing.CodeKey{ID: 2, Secret: []byte("of another server")}
)

func TestTokens(t *testing.T) {
	t.Parallel()
	tokens := playtoken.New(ring{oldKey})
	url, session := tokens.SignPlayback("str_1", noon), tokens.SignSession("str_1", 1<<63, noon)
	rotated := playtoken.New(ring{oldKey, newKey})
	for _, p := range []*playtoken.Tokens{tokens, rotated} {
		streamID, expires, err := p.CheckPlayback(t.Context(), url)
		require.NoError(t, err)
		require.Equal(t, "str_1", streamID)
		require.Equal(t, noon, expires)
		viewer, began, err := p.CheckSession(t.Context(), "str_1", session)
		require.NoError(t, err)
		require.Equal(t, uint64(1<<63), viewer)
		require.Equal(t, noon, began)
	}
	require.NotEqual(t, url, rotated.SignPlayback("str_1", noon), "the newest key signs")

	_, _, err := tokens.CheckSession(t.Context(), "str_2", session)
	require.ErrorIs(t, err, playtoken.ErrInvalid, "another stream's")
	_, _, err = tokens.CheckSession(t.Context(), "str_1", url)
	require.ErrorIs(t, err, playtoken.ErrInvalid, "another kind")
	_, _, err = tokens.CheckPlayback(t.Context(), session)
	require.ErrorIs(t, err, playtoken.ErrInvalid, "another kind")
	room := tokens.SignRoomPlayback("str_1", noon)
	streamID, expires, err := tokens.CheckRoomPlayback(t.Context(), room)
	require.NoError(t, err)
	require.Equal(t, "str_1", streamID)
	require.Equal(t, noon, expires)
	_, _, err = tokens.CheckPlayback(t.Context(), room)
	require.ErrorIs(t, err, playtoken.ErrInvalid, "another kind")
	_, _, err = tokens.CheckRoomPlayback(t.Context(), url)
	require.ErrorIs(t, err, playtoken.ErrInvalid, "another kind")
	for _, keys := range []ring{{newKey}, {otherKey}} {
		_, _, err = playtoken.New(keys).CheckPlayback(t.Context(), url)
		require.ErrorIs(t, err, playtoken.ErrInvalid)
	}
}

func TestTokensOfRecordings(t *testing.T) {
	t.Parallel()
	tokens := playtoken.New(ring{oldKey})
	text := tokens.SignRecording("rec_1", noon)
	late := playtoken.Late(func() *playtoken.Tokens { return playtoken.New(ring{oldKey, newKey}) })
	for _, check := range []func(context.Context, string) (string, time.Time, error){tokens.CheckRecording, late.CheckRecording} {
		recordingID, expires, err := check(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, "rec_1", recordingID)
		require.Equal(t, noon, expires)
	}
	_, _, err := tokens.CheckPlayback(t.Context(), text)
	require.ErrorIs(t, err, playtoken.ErrInvalid, "another kind")
	_, _, err = tokens.CheckSession(t.Context(), "rec_1", text)
	require.ErrorIs(t, err, playtoken.ErrInvalid, "another kind")
	for _, other := range []string{
		tokens.SignPlayback("rec_1", noon), tokens.SignRoomPlayback("rec_1", noon), tokens.SignSession("rec_1", 1, noon), text[1:], "",
	} {
		_, _, err = tokens.CheckRecording(t.Context(), other)
		require.ErrorIs(t, err, playtoken.ErrInvalid, "%q", other)
	}
	for _, keys := range []ring{{newKey}, {otherKey}} {
		_, _, err = playtoken.New(keys).CheckRecording(t.Context(), text)
		require.ErrorIs(t, err, playtoken.ErrInvalid)
	}
}

func TestTokensOfPictures(t *testing.T) {
	t.Parallel()
	tokens := playtoken.New(ring{oldKey})
	text := tokens.SignPicture("str_1", noon)
	late := playtoken.Late(func() *playtoken.Tokens { return playtoken.New(ring{oldKey, newKey}) })
	for _, check := range []func(context.Context, string) (string, time.Time, error){tokens.CheckPicture, late.CheckPicture} {
		streamID, expires, err := check(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, "str_1", streamID)
		require.Equal(t, noon, expires)
	}
	for _, check := range []func(context.Context, string) (string, time.Time, error){
		tokens.CheckPlayback, tokens.CheckRoomPlayback, tokens.CheckRecording,
	} {
		_, _, err := check(t.Context(), text)
		require.ErrorIs(t, err, playtoken.ErrInvalid, "it opens a picture only")
	}
	for _, other := range []string{tokens.SignPlayback("str_1", noon), tokens.SignRoomPlayback("str_1", noon), text[1:], ""} {
		_, _, err := tokens.CheckPicture(t.Context(), other)
		require.ErrorIs(t, err, playtoken.ErrInvalid, "%q", other)
	}
	require.Empty(t, playtoken.ResourceOf("/live/"+tokens.SignPicture(id.New(id.Stream), noon)+"/thumbnail.jpg"), "no usage of the tenant")
}

func TestTheFormatOfTokens(t *testing.T) {
	t.Parallel()
	tokens := playtoken.New(ring{newKey})
	for _, ours := range []string{
		tokens.SignPlayback("str_1", noon), tokens.SignRoomPlayback("str_1", noon), tokens.SignSession("str_1", 1, noon),
		tokens.SignRecording("rec_1", noon), tokens.SignPicture("str_1", noon), playtoken.New(ring{otherKey}).SignPlayback("str_1", noon),
	} {
		require.True(t, playtoken.HasFormat(ours), ours)
	}
	for _, foreign := range []string{"", "AQ", "5f4dcc3b5aa765d61d8327deb882cf99", "AQY" + strings.Repeat("A", 60), "eyJhbGciOiJub25lIn0.eyJzdWIiOiI1In0."} {
		require.False(t, playtoken.HasFormat(foreign), foreign)
	}
}

// TestEveryBitCounts: a token's text can't be changed in any bit and still open the stream.
func TestEveryBitCounts(t *testing.T) {
	t.Parallel()
	tokens := playtoken.New(ring{newKey})
	good := tokens.SignPlayback("str_1", noon)
	raw, err := base64.RawURLEncoding.DecodeString(good)
	require.NoError(t, err)
	for i := range 8 * len(raw) {
		changed := append([]byte(nil), raw...)
		changed[i/8] ^= 1 << (i % 8)
		_, _, err := tokens.CheckPlayback(t.Context(), base64.RawURLEncoding.EncodeToString(changed))
		require.ErrorIs(t, err, playtoken.ErrInvalid, "bit %d", i)
	}
	for _, bad := range []string{"", "x", good + "A", good[1:], good + "=", strings.Repeat("A", 1<<16), "!" + good[1:], good + "\n"} {
		_, _, err := tokens.CheckPlayback(t.Context(), bad)
		require.ErrorIs(t, err, playtoken.ErrInvalid)
	}
}

// FuzzCheckPlayback: only a token that was signed for a stream opens it.
func FuzzCheckPlayback(f *testing.F) {
	tokens := playtoken.New(ring{newKey})
	good := tokens.SignPlayback("str_1", noon)
	f.Add(good)
	f.Add(tokens.SignSession("str_1", 1, noon))
	f.Add("")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		id, _, err := tokens.CheckPlayback(t.Context(), text)
		if err == nil && (id != "str_1" || text != good) {
			t.Fatalf("%q opens %q", text, id)
		}
	})
}
