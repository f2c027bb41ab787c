package rtmpurl

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Address{
		"rtmp://a.rtmp.youtube.com/live2/abcd-efgh": {
			Host: "a.rtmp.youtube.com:1935", App: "live2", URL: "rtmp://a.rtmp.youtube.com/live2", Key: "abcd-efgh",
		},
		"RTMPS://live-api-s.facebook.com:443/rtmp/FB-1-0-Ab?s_bl=1&s/x": {
			Host: "live-api-s.facebook.com:443", Secure: true, App: "rtmp", URL: "rtmps://live-api-s.facebook.com:443/rtmp", Key: "FB-1-0-Ab?s_bl=1&s/x",
		},
		"rtmps://h.example/app/instance/k%20#1": {
			Host: "h.example:443", Secure: true, App: "app/instance", URL: "rtmps://h.example/app/instance", Key: "k%20#1",
		},
		"rtmp://[::1]:1936/a/b": {Host: "[::1]:1936", App: "a", URL: "rtmp://[::1]:1936/a", Key: "b"},
		"rtmp://h/app":          {Host: "h:1935", App: "app", URL: "rtmp://h/app"},
	} {
		got, err := Parse(raw)
		require.NoError(t, err, raw)
		require.Equal(t, want, got)
	}
	for raw, want := range map[string]error{
		"http://h/a/b": ErrScheme, "rtmpt://h/a/b": ErrScheme, "": ErrScheme, "rtmp://u:p@h/a/b": ErrUser,
		"rtmp:///a/b": ErrHost, "rtmp://h": ErrHost, "rtmp://h/": ErrHost, "rtmp://h//k": ErrHost, "rtmp://h:x/a/b": ErrHost, "rtmp://h:0/a/b": ErrHost,
		"rtmp://h:65536/a/b": ErrHost,
	} {
		_, err := Parse(raw)
		require.ErrorIs(t, err, want, raw)
	}
}

// TestRedact: servers repeat parts of the address, also decoded ones.
func TestRedact(t *testing.T) {
	t.Parallel()
	for raw, texts := range map[string][2]string{
		"rtmp://h.example/live/inst-4f9q/key%2Done?txSecret=s3cr3t&t=66F0": {
			"app live/inst-4f9q: no key-one, s3cr3t of inst-4f9q is bad, 66F0 is over, live", "app live/***: no ***, *** of *** is bad, *** is over, live",
		},
		"rtmp://h.example/KEY-4f9q":             {"application KEY-4f9q", "application ***"}, // there is no key: perhaps the application is it
		"rtmp://h.example/app/KEY-4f9q/":        {"application app/KEY-4f9q", "application app/***"},
		"rtmp://h.example/app?token=4f9q2x":     {"app?token=4f9q2x, 4f9q2x", "app?***, ***"},
		"rtmp://h.example/live/a?user=b/c=4f9q": {"4f9q", "***"},
	} {
		a, err := Parse(raw)
		require.NoError(t, err)
		require.Equal(t, texts[1], a.Redact(texts[0]))
	}
}

func TestAddressesDontShow(t *testing.T) {
	t.Parallel()
	a, err := Parse("rtmps://h.example/app/top-secret?x=y")
	require.NoError(t, err)
	encoded, err := json.Marshal(struct{ A Address }{a})
	require.NoError(t, err)
	for _, text := range []string{
		fmt.Sprint(a), fmt.Sprintf("%+v %#v", a, a), fmt.Sprintf("%v", struct{ A Address }{a}), string(encoded),
		a.Redact("Stream top-secret?x=y of rtmps://h.example/app/top-secret is bad; top-secret"),
	} {
		require.NotContains(t, text, "secret?")
		require.NotContains(t, text, "top-secret")
		require.NotContains(t, text, "h.example")
	}
}
