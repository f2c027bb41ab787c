package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// TestARoomPlaysBFramesByHLS publishes the sample, whose B-frames browsers can't decode
// by WebRTC. The room page must play the HLS playlist with sound and show the reason,
// and the stream's health must name the encoder setting to change.
func TestARoomPlaysBFramesByHLS(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	id := "ben"
	token := created(a.CreateSfuTokenWithResponse(t.Context(), stream.ID, api.SfuTokenInput{UserID: &id}))(t)
	ben := open(t, s, stream.ID, id, token.Token)
	ben.waits(`!document.getElementById("lobby").hidden`)
	ben.joins()
	ben.isIn()
	ben.waits(`room().fallback?.code === "b_frames"`)
	ben.waits(`[...document.querySelectorAll(".tile[data-source=stream-video] video")].some((v) =>
		v.src && v.currentTime > 3 && v.videoWidth > 0 && v.webkitAudioDecodedByteCount > 0 && !v.hidden)`)

	var codes, texts []string
	for _, n := range a.stream(stream.ID).Health.Notices {
		codes, texts = append(codes, string(n.Code)), append(texts, n.Message)
	}
	require.Contains(t, codes, "b_frames")
	require.Contains(t, strings.Join(texts, "\n"), "-bf 0")
}
