package walk_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/blob"
	"showfloor/internal/media/thumbnail"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/streams/recordgate"
	"showfloor/internal/streams/recording"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/recordingtest"
	"showfloor/web"
)

const recordingsPath = "/v1/me/recordings/"

// archive is a console of a server that stores and plays recordings.
type archive struct {
	*console

	dir   string
	store blob.Store
}

func openArchive(t *testing.T, language string) *archive {
	t.Helper()
	a := &archive{dir: t.TempDir()}
	log := slog.New(slog.DiscardHandler)
	var err error
	a.store, err = blob.Open(t.Context(), blob.Config{Dir: a.dir, Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.store.Close()) })
	pages, err := web.NewPages(web.Files())
	require.NoError(t, err)
	gate := recordgate.New(func() *recording.Service { return a.s.Recordings }, a.store, log)
	media := vod.New(vod.Config{
		Tokens: playtoken.Late(func() *playtoken.Tokens { return a.s.Playback }), Source: gate, Files: gate,
		Now: func() time.Time { return a.s.Clock.Now() }, Log: log,
	})
	a.console = openWith(t, language, apitest.Options{
		Realtime: true,
		Files:    a.store, Clips: recordgate.Clips{Files: a.store}, Texts: recordgate.Texts{Files: a.store},
		Pages: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, vod.Prefix) {
				media.ServeHTTP(w, r)

				return
			}
			pages.ServeHTTP(w, r)
		}),
		PagePaths: append(web.Paths(), vod.Prefix+"*"),
	})
	a.playsHere()

	return a
}

// playsHere makes the browser load media from this server, whose public URL in answers is another one.
func (a *archive) playsHere() {
	a.t.Helper()
	_, err := chromedp.Call(a.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `{
		const send = window.fetch;
		window.fetch = async (request, options) => {
			const answer = await send(request, options);
			if (!/\/v1\/(me\/(recordings|transcodes|packages)|replays)\//.test(request.url ?? String(request))) return answer;
			return new Response((await answer.text()).replaceAll(` + quoted(apitest.PublicURL) + `, location.origin), answer);
		};
	}`})
	require.NoError(a.t, err)
}

// films records a stream. The recording is READY, and has no pictures yet.
func (a *archive) films(owner *apitest.Caller, stream api.Stream, name string, seconds int) (rec api.Recording) {
	a.t.Helper()
	ctx, at := a.t.Context(), "/v1/me/streams/"+stream.ID+"/recordings/"
	fields := map[string]any{"name": name, "metadata": map[string]string{"season": "3"}}
	owner.Call(a.t, "POST", at+"start", fields).Into(a.t, http.StatusCreated, &rec)
	take, err := a.s.Recordings.OpenTake(ctx, rec.ID, "key")
	require.NoError(a.t, err)
	media := recordingtest.Make(a.t, a.dir, rec.ID, recordingtest.Part{Clip: recordingtest.Clip{Seconds: seconds, Size: "640x360"}})
	inits := make([]recording.Init, len(media.Inits))
	for i, one := range media.Inits {
		inits[i] = recording.Init{
			Number: one.Number, Codecs: one.Codecs, Width: one.Width, Height: one.Height, FrameRate: one.FrameRate,
			VideoBytes: one.VideoBytes, AudioBytes: one.AudioBytes,
		}
	}
	segments := make([]recording.Segment, len(media.Segments))
	begin := media.Segments[0].StartedAt
	for i, one := range media.Segments {
		segments[i] = recording.Segment{
			Number: one.Number, Init: one.Init, StartedAt: a.s.Clock.Now().Add(one.StartedAt.Sub(begin)), Duration: one.Duration,
			Video: one.Duration, Audio: one.Duration, VideoBytes: one.VideoBytes, AudioBytes: one.AudioBytes,
		}
	}
	require.NoError(a.t, a.s.Recordings.SaveSegments(ctx, rec.ID, take, inits, segments))
	a.s.Clock.Advance(media.Length())
	require.NoError(a.t, a.s.Recordings.CloseTake(ctx, rec.ID, take, ""))
	owner.Call(a.t, "POST", at+rec.ID+"/stop", nil).Is(a.t, http.StatusCreated)
	require.NoError(a.t, a.s.Recordings.FinishRecording(ctx, rec.ID))
	rec = get[api.Recording](a.t, owner, recordingsPath+rec.ID)
	require.Equal(a.t, api.RecordingStatusREADY, rec.Status)

	return rec
}

// develops makes the poster, the storyboard and the MP4 file, as the job does.
func (a *archive) develops(recordingID string) {
	a.t.Helper()
	media, err := a.s.Recordings.StoredMedia(a.t.Context(), recordingID)
	require.NoError(a.t, err)
	made, err := (&recordgate.Assets{Files: a.store, Pictures: thumbnail.New()}).MakeAssets(a.t.Context(), media)
	require.NoError(a.t, err)
	require.True(a.t, made.Poster && made.Storyboard && made.MP4)
	a.changes("UPDATE recordings SET assets_at = now(), has_poster = true, has_storyboard = true, has_mp4 = true WHERE id = $1", recordingID)
}

// changes runs a statement on the row with an id.
func (a *archive) changes(statement, rowID string) {
	a.t.Helper()
	done, err := a.s.Pool.Exec(a.t.Context(), statement, rowID)
	require.NoError(a.t, err)
	require.EqualValues(a.t, 1, done.RowsAffected())
}

// scene is the n-th picture of the storyboard.
func scene(n int) string { return fmt.Sprintf(`document.querySelectorAll(".scene")[%d]`, n) }

// clock is the time of the n-th picture of the storyboard.
func (a *archive) clock(n int) string {
	a.t.Helper()
	browsertest.WaitFor(a.t, a.tab, `!!`+scene(n))

	return browsertest.Value[string](a.t, a.tab, scene(n)+`.textContent`)
}

// playing is the video in the page's player.
const playing = `document.querySelector("iframe.preview")?.contentDocument?.querySelector("video")`

// transcodeIDs are those of a recording's transcodes, newest first.
func transcodeIDs(t *testing.T, owner *apitest.Caller, recordingID string) (ids []string) {
	t.Helper()
	for _, job := range get[[]api.Transcode](t, owner, "/v1/me/recordings/"+recordingID+"/transcodes") {
		ids = append(ids, job.ID)
	}

	return ids
}
