package rtmp

import (
	"bytes"
	"math"
	"net/url"
	"strings"
	"testing"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/stretchr/testify/require"
)

func amf(t testing.TB, values ...any) []byte {
	t.Helper()
	b, err := amf0.Data(values).Marshal()
	require.NoError(t, err)
	return b
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	connect := amf(t, "connect", float64(1), amf0.Object{{Key: "app", Value: "live"}, {Key: "list", Value: amf0.StrictArray{"a", float64(2)}}})
	for _, c := range []struct {
		kind byte
		body []byte
	}{{typeCommandAMF0, connect}, {typeCommandAMF3, append([]byte{0}, connect...)}, {typeCommandAMF3, connect}} {
		got, ok := parseCommand(c.kind, c.body)
		require.True(t, ok)
		require.Equal(t, "connect", got.name)
		require.InDelta(t, 1, got.transaction, 0)
		app, _ := got.object.GetString("app")
		require.Equal(t, "live", app)
	}
	publish, ok := parseCommand(typeCommandAMF0, amf(t, "publish", float64(5), nil, "key", "live"))
	require.True(t, ok)
	require.Equal(t, "key", publish.text(0))
	require.Empty(t, publish.text(7))

	for _, bad := range [][]byte{nil, {0}, amf(t, float64(1)), amf(t, ""), {2, 0xFF, 0xFF}} {
		_, ok := parseCommand(typeCommandAMF0, bad)
		require.False(t, ok, "%x", bad)
	}
}

func TestAMFReadsOverOddMarkers(t *testing.T) {
	t.Parallel()
	date := append([]byte{0x0B}, make([]byte, 10)...)
	long := append([]byte{0x0C, 0, 0, 0, 2}, "ab"...)
	typed := []byte{0x10, 0, 1, 'C', 0, 1, 'k', 0x01, 1, 0, 0, 9}
	b := bytes.Join([][]byte{date, long, typed, {0x06}, {0x0D}, {0x07, 0, 1}, amf(t, math.Pi)}, nil)
	require.Equal(t, []any{nil, "ab", amf0.Object{{Key: "k", Value: true}}, nil, nil, nil, math.Pi}, parseAMF(b))
	require.Equal(t, []any{"x"}, parseAMF(append(amf(t, "x"), 0x11, 1, 2)), "values after AMF3 are skipped")
}

func TestAMFIsBounded(t *testing.T) {
	t.Parallel()
	deep := bytes.Repeat([]byte{0x0A, 0, 0, 0, 1}, 6000)
	require.Empty(t, parseAMF(deep))
	wide := append([]byte{0x0A, 0xFF, 0xFF, 0xFF, 0xFF}, bytes.Repeat([]byte{5}, 30_000)...)
	require.Empty(t, parseAMF(wide))
	require.Len(t, parseAMF(bytes.Repeat([]byte{5}, 30_000)), maxAMFValues)
}

func TestStreamKeyForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ app, name, key, token string }{
		{"live", "abc", "abc", ""},
		{"live", "abc?token=t", "abc", "t"},
		{"live", "live/abc", "abc", ""},
		{"live/", "abc", "abc", ""},
		{"live/abc", "", "abc", ""},
		{"live/room", "abc", "room/abc", ""},
		{"live", "?key=abc&token=t", "abc", "t"},
		{"live?key=abc", "", "abc", ""},
		{"live?token=t", "abc", "abc", "t"},
		{"live", " abc", " abc", ""},
		{"live", "", "", ""},
	} {
		app, path, query := splitApp(c.app)
		require.Equal(t, "live", app)
		key, all := streamKey(app, path, c.name, query)
		require.Equal(t, c.key, key, c)
		require.Equal(t, c.token, all.Get("token"), c)
	}
	_, all := streamKey("live", "", "k?a=%zz&b=1", url.Values{})
	require.Equal(t, "1", all.Get("b"), "the valid part of a broken query")
}

func TestStatusIsCutAtARune(t *testing.T) {
	t.Parallel()
	o := status("error", codeDenied, strings.Repeat("a", maxDescription-1)+"ä")
	d, _ := o.GetString("description")
	require.Equal(t, strings.Repeat("a", maxDescription-1), d)
}

func FuzzCommand(f *testing.F) {
	f.Add(byte(typeCommandAMF0), amf(f, "connect", float64(1), amf0.Object{{Key: "app", Value: "live?key=a"}}))
	f.Add(byte(typeCommandAMF3), append([]byte{0}, amf(f, "publish", float64(1), nil, "live/key?x=%20", "live")...))
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		c, ok := parseCommand(kind, b)
		require.Equal(t, ok, c.name != "")
		name, _ := c.object.GetString("app")
		app, path, query := splitApp(name)
		streamKey(app, path, c.text(0), query)
	})
}
