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
		"rtmp:///a/b": ErrHost, "rtmp://h": ErrHost, "rtmp://h/": ErrHost, "rtmp://h//k": ErrHost, "rtmp://h:x/a/b": ErrHost,
	} {
		_, err := Parse(raw)
		require.ErrorIs(t, err, want, raw)
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
