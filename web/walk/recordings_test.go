package walk_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/streams/recording"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

func TestTenantWatchesARecording(t *testing.T) {
	t.Parallel()
	c := openArchive(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, map[string]any{"name": "Evening show"})
	mug := owner.Product(t, map[string]any{"name": "Blue mug <i>"})
	publishes(t, c.s, stream)
	rec := c.films(owner, stream, "Evening <b>show", 24)

	c.signsIn(owner, "/streams/"+stream.ID)
	c.clicks("Evening <b>show")
	c.sees("The pictures are not made yet")
	c.sees("The MP4 file does not exist yet")
	c.sees("No product was pinned")
	c.shows("Evening <b>show", "recording-no-pictures")

	c.develops(rec.ID)
	c.changes(`UPDATE recordings SET incomplete_reason = 'the storage was full for a while', retain_until = now() + interval '30 days',
		product_timeline = '[{"ts":0,"productId":"`+mug.ID+`"},{"ts":3.5,"productId":"`+mug.ID+`"}]' WHERE id = $1`, rec.ID)
	c.opens("/console/recordings/" + rec.ID)
	c.sees("Download the MP4")
	c.sees("Blue mug <i>")
	c.sees("the storage was full for a while")
	later := c.clock(1)
	c.shows("Evening <b>show", "recording")
	require.False(t, browsertest.Value[bool](t, c.tab, `!!`+playing), "nothing plays by itself")

	c.clicks("play")
	browsertest.WaitFor(t, c.tab, playing+`?.readyState > 1`)
	c.clicks("Play from " + later)
	c.sees("Chosen: " + later)
	browsertest.WaitFor(t, c.tab, playing+`.currentTime >= 7`)
	c.clicks("Play from 0:03: Blue mug <i>")
	browsertest.WaitFor(t, c.tab, playing+`.currentTime < 6`)
	c.looks("recording-plays")
	c.clicks("Load again")
	browsertest.WaitFor(t, c.tab, playing+`?.currentTime > 3`)

	c.clicks("Rename")
	c.types("name", "Final <b>show")
	c.looks("recording-rename")
	c.clicks("submit")
	c.sees("Final <b>show")
	require.Equal(t, "Final <b>show", get[api.Recording](t, owner, recordingsPath+rec.ID).Name.MustGet())
	c.clicks("delete-recording")
	c.sees("Clips of it stay")
	c.clicks("confirm")
	browsertest.WaitFor(t, c.tab, `location.pathname === "/console/recordings"`)
	require.Equal(t, api.RecordingStatusDELETED, get[api.Recording](t, owner, recordingsPath+rec.ID).Status)
	c.opens("/console/recordings/" + rec.ID)
	c.sees("The recording was deleted")
	c.lacks("Delete", "Rename", "New transcode", "Upload a file")
	c.complains(refusedFirst)
}

func TestTenantMakesClips(t *testing.T) {
	t.Parallel()
	c := openArchive(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, nil)
	publishes(t, c.s, stream)
	rec := c.films(owner, stream, "Evening show", 24)
	c.develops(rec.ID)
	list := func() []api.Recording {
		return get[[]api.Recording](t, owner, "/v1/me/streams/"+stream.ID+"/recordings")
	}

	c.signsIn(owner, "/recordings/"+rec.ID)
	c.sees("There are no clips yet")
	from, to := c.clock(1), c.clock(2)
	c.evaluates(scene(1) + `.click()`)
	c.clicks("clip-from")
	c.evaluates(scene(2) + `.click()`)
	c.clicks("clip-to")
	browsertest.WaitFor(t, c.tab, `document.querySelector("[name=from]").value === `+quoted(from)+
		` && document.querySelector("[name=to]").value === `+quoted(to))
	c.types("from", "0:77")
	c.types("to", "1:00")
	c.clicks("make-clip")
	c.sees("Enter minutes and seconds, such as 1:30")
	c.sees("The recording ends at 0:24")
	c.looks("recording-clip-faults")
	c.types("from", "0:04.5")
	c.types("to", "5")
	c.sees("The beginning must be at least 1 second before the end")
	c.types("to", "10")
	c.types("clipName", "Best <i>of")
	c.sees("The clip is 0:05.5 long")
	c.clicks("make-clip")
	c.sees("Being made")
	c.looks("recording-clip-made")
	c.photographs("recording-clips", "Clips")
	clip := list()[0]
	require.Equal(t, api.RecordingClipSource{RecordingID: rec.ID, FromSec: 4.5, ToSec: 10}, clip.ClipOf.MustGet())
	require.Equal(t, "Best <i>of", clip.Name.MustGet())

	require.NoError(t, c.s.Recordings.MakeClip(t.Context(), clip.ID))
	c.opens("/console/recordings/" + rec.ID)
	c.clicks("Best <i>of")
	c.sees("A clip of another recording, from 0:04 to 0:")
	c.shows("Best <i>of", "recording-clip")
	c.clicks("Go to that recording")
	browsertest.WaitFor(t, c.tab, settled("Evening show"))

	c.types("from", "0")
	c.types("to", "2")
	c.clicks("make-clip")
	c.sees("Being made")
	owner.Call(t, "DELETE", recordingsPath+rec.ID, nil).Is(t, http.StatusOK)
	lost := list()[0]
	require.NoError(t, c.s.Recordings.MakeClip(t.Context(), lost.ID))
	c.opens("/console/recordings/" + lost.ID)
	c.sees("the recording was deleted while the clip was made")
	browsertest.WaitFor(t, c.tab, `!document.querySelector(".mantine-Skeleton-root")`)
	c.looks("recording-failed")
	c.complains(refusedFirst)
}

const subtitles = "WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n"

func TestTenantUploadsSubtitles(t *testing.T) {
	t.Parallel()
	c := openArchive(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, nil)
	publishes(t, c.s, stream)
	rec := c.films(owner, stream, "Evening show", 5)
	tracks := recordingsPath + rec.ID + "/text-tracks"

	c.signsIn(owner, "/recordings/"+rec.ID)
	c.sees("Upload a WebVTT file")
	c.clicks("add-track")
	c.types("language", "pt-BR")
	c.evaluates(`document.activeElement.blur()`)
	browsertest.WaitFor(t, c.tab, `document.querySelector("[name=trackName]").value.toLowerCase().startsWith("português")`)
	c.clicks("submit")
	c.sees("Choose a file")
	c.uploads("input[type=file]", "pt.vtt", "1\n00:01,000 --> 00:02,000\nOlá")
	c.clicks("submit")
	c.sees("invalid_input")
	c.looks("recording-track-fault")
	require.Equal(t, 1, browsertest.Value[int](t, c.tab, `document.querySelectorAll("form .mantine-InputWrapper-error").length`))
	c.uploads("input[type=file]", "pt.vtt", subtitles)
	c.types("trackName", "Português <b>")
	c.chooses("Kind", "Captions: also sounds and speakers")
	c.clicks("submit")
	c.sees("Cues: 1")
	c.looks("recording-tracks")
	c.photographs("recording-subtitles", "Subtitles and captions")
	list := get[[]api.RecordingTextTrack](t, owner, tracks)
	require.Len(t, list, 1)
	require.Equal(t, []any{"pt-BR", "Português <b>", api.TextTrackKindCAPTIONS}, []any{list[0].Language, list[0].Name, list[0].Kind})

	c.clicks("Delete Português <b>")
	c.clicks("confirm")
	c.sees("Upload a WebVTT file")
	require.Empty(t, get[[]api.RecordingTextTrack](t, owner, tracks))
	c.complains(refusedFirst, "400")
}

// doneTranscode ends a transcode with one file, as its worker does.
const doneTranscode = `UPDATE media_jobs SET status = 'COMPLETED', progress = 100, started_at = now(), finished_at = now(),
	size_bytes = 5000000, outputs = '[{"name":"hi","width":1280,"height":720,"videoCodec":"H264","videoKbps":2731,"audioKbps":128,
	"durationNs":5000000000,"sizeBytes":5000000}]' WHERE id = $1`

func TestTenantTranscodesARecording(t *testing.T) {
	t.Parallel()
	c := openArchive(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, nil)
	publishes(t, c.s, stream)
	rec := c.films(owner, stream, "Evening show", 5)
	page := "/recordings/" + rec.ID

	c.signsIn(owner, page)
	c.sees("There is no transcode yet")
	c.clicks("new-transcode")
	c.clicks("submit")
	c.sees("The job waits for a free worker")
	first := transcodeIDs(t, owner, rec.ID)[0]
	require.Equal(t, rec.ID, get[api.Transcode](t, owner, "/v1/me/transcodes/"+first).RecordingID)
	c.changes("UPDATE media_jobs SET status = 'RUNNING', progress = 40, started_at = now() WHERE id = $1", first)
	c.sees("40%")
	c.looks("recording-transcode")
	browsertest.Run(t, c.tab, chromedp.Reload())
	c.clicks("Cancel the job")
	c.clicks("confirm")
	c.sees("Cancelled")
	require.Equal(t, api.MediaJobStatusCANCELED, get[api.Transcode](t, owner, "/v1/me/transcodes/"+first).Status)

	c.clicks("new-transcode")
	c.evaluates(`document.querySelector("input[type=radio][value=own]").click()`)
	c.types("height0", "721")
	c.clicks("submit")
	c.sees("Enter an even number from 144 to 2160")
	c.types("height0", "720")
	c.clicks("Add a rendition")
	c.clicks("submit")
	c.sees("invalid_input")
	c.looks("recording-transcode-fault")
	c.clicks("Remove rendition 2")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `document.querySelectorAll("[data-testid=transcode]").length === 2`)
	second := transcodeIDs(t, owner, rec.ID)[0]
	c.changes(doneTranscode, second)
	c.sees("1280 × 720, H264, 2,731 kbit/s · 5 MB")
	c.packages(owner, rec.ID)

	c.opens("/console" + page)
	c.sees("the disk failed <b>")
	require.Equal(t, 2, browsertest.Value[int](t, c.tab, `document.querySelectorAll("[data-testid=transcode]").length`))
	c.looks("recording-transcodes")
	c.photographs("recording-transcode-jobs", "Transcodes")
	c.complains(refusedFirst, "400")
}

// packages makes two packages of a recording's transcode: one is completed, the other one fails.
func (a *archive) packages(owner *apitest.Caller, recordingID string) {
	a.t.Helper()
	newest := func() string {
		return get[[]api.Package](a.t, owner, "/v1/me/recordings/"+recordingID+"/packages")[0].ID
	}
	a.clicks("Package")
	a.evaluates(`document.querySelectorAll("[role=dialog] input[type=checkbox]").forEach((box) => box.click())`)
	a.clicks("submit")
	a.sees("Choose at least one")
	a.evaluates(`document.querySelector("[role=dialog] input[type=checkbox]").click()`)
	a.looks("recording-package-new")
	a.clicks("submit")
	a.sees("Package: HLS")
	a.changes(`UPDATE media_jobs SET status = 'COMPLETED', progress = 100, finished_at = now(),
		outputs = '[{"format":"HLS","file":"master.m3u8","sizeBytes":4000000}]'
		WHERE id = $1`, newest())
	a.sees("Copy the HLS URL")
	a.clicks("Package")
	a.clicks("submit")
	a.sees("Package: HLS, DASH")
	a.changes("UPDATE media_jobs SET status = 'FAILED', error = 'the disk failed <b>', finished_at = now() WHERE id = $1", newest())
	a.sees("The job failed: the disk failed <b>")
}

func TestColleaguesSeeARecordingInGerman(t *testing.T) {
	t.Parallel()
	c := openArchive(t, "de-DE")
	owner := c.s.Register(t)
	owner.SetPlan(t, "ENTERPRISE")
	stream, other := owner.Stream(t, nil), owner.Stream(t, map[string]any{"name": "Zweite"})
	publishes(t, c.s, stream)
	rec := c.films(owner, stream, "Abendschau", 5)
	publishes(t, c.s, other)
	var running api.Recording
	owner.Call(t, "POST", "/v1/me/streams/"+other.ID+"/recordings/start", nil).Into(t, http.StatusCreated, &running)
	viewer, developer := owner.Colleague(t, tenancy.Viewer), owner.Colleague(t, tenancy.Developer)

	c.signsIn(viewer, "/recordings/"+rec.ID)
	c.sees("Bilderleiste")
	c.sees("Es gibt keine Ausschnitte dieser Aufzeichnung")
	c.sees("Abspieladresse kopieren")
	c.lacks("Löschen", "Umbenennen", "Neue Umrechnung", "Datei hochladen", "Ausschnitt anlegen")
	c.shows("Abendschau", "recording-viewer-de")
	c.signsOut()
	c.signsIn(developer, "/recordings/"+running.ID)
	c.sees("Die Aufzeichnung läuft")
	c.looks("recording-running-de")
	c.clicks("Aufzeichnung beenden")
	c.clicks("confirm")
	c.sees("Wird aufbereitet")
	c.lacks("Löschen", "Neue Umrechnung", "Datei hochladen", "Ausschnitt anlegen")
	c.opens("/console/recordings/" + rec.ID)
	c.sees("Es gibt noch keine Umrechnung")
	c.clicks("new-transcode")
	c.evaluates(`document.querySelector("input[type=radio][value=own]").click()`)
	c.looks("recording-transcode-new-de")
	c.complains(refusedFirst)
}

func TestTenantHearsTheTracksOfASession(t *testing.T) {
	t.Parallel()
	c := openArchive(t, "en-GB")
	owner := c.s.Register(t)
	room := owner.Session(t, map[string]any{"name": "Stand-up"})
	host := owner.Ticket(t, room.ID, "ada", nil)
	at := "/v1/me/sessions/" + room.ID + "/recording/"
	var made api.SessionRecording
	host.Call(t, "POST", at+"start", map[string]any{"separateTracks": true}).Into(t, http.StatusCreated, &made)
	n, err := c.s.Recordings.OpenPart(t.Context(), made.ID)
	require.NoError(t, err)
	part := recording.PartID{RecordingID: made.ID, Part: n}
	take, err := c.s.Recordings.OpenTakeOfPart(t.Context(), part, "key")
	require.NoError(t, err)
	require.NoError(t, c.s.Recordings.SaveSegments(t.Context(), made.ID, take, nil, []recording.Segment{
		{Number: 1, Init: 1, StartedAt: c.s.Clock.Now(), Duration: 4 * time.Second, VideoBytes: 1000, AudioBytes: 100},
	}))
	require.NoError(t, c.s.Recordings.CloseTake(t.Context(), made.ID, take, ""))
	require.NoError(t, c.s.Recordings.FinishComposedPart(t.Context(), part, recording.ComposedPart{
		Length: 4 * time.Second,
		Tracks: []recording.Track{{Number: 1, UserID: "ben", Name: "Ben <i>Sato", Bytes: 30_000}, {Number: 2, UserID: "ada", Bytes: 20}},
	}))
	require.NoError(t, c.s.Recordings.FinishPart(t.Context(), part, ""))
	host.Call(t, "POST", at+made.ID+"/stop", nil).Is(t, http.StatusCreated)
	require.NoError(t, c.s.Recordings.FinishRecording(t.Context(), made.ID))

	c.signsIn(owner, "/recordings/"+made.ID)
	c.sees("Ben <i>Sato")
	c.sees("from 0:00, 0:04 long · 30 kB")
	c.sees("Participant without a name")
	c.sees("Clips can be made of recordings of streams only")
	c.lacks("Make the clip")
	browsertest.WaitFor(t, c.tab, `!document.querySelector(".mantine-Skeleton-root")`)
	c.looks("recording-session")
	c.clicks("Go to the session")
	browsertest.WaitFor(t, c.tab, settled("Stand-up"))
	c.complains(refusedFirst)
}
