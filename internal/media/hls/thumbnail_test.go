package hls

import (
	"context"
	"image/jpeg"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/thumbnail"
	"showfloor/internal/streams/playtoken"
)

// decodable is a clip with a key picture each second.
var decodable = cliptest.Spec{Seconds: 4, FPS: "30", GOP: 30, Rate: 48000, Size: "320x180"}

// withThumbnails decodes pictures by ffmpeg, and counts them.
func withThumbnails(c Config) (Config, *atomic.Int32) {
	maker, made := thumbnail.New(), new(atomic.Int32)
	c.JPEG = func(ctx context.Context, u *hub.Unit) ([]byte, error) {
		made.Add(1)
		return maker.Unit(ctx, u, 160)
	}
	return c, made
}

func TestThumbnail(t *testing.T) {
	t.Parallel()
	c, made := withThumbnails(Config{})
	cluster := newCluster(t, 2, c)
	owner, edge := cluster.nodes[0], cluster.nodes[1]
	const path = "/live/token-a/thumbnail.jpg"
	if a := edge.do("GET", path); a.status != 404 || !strings.Contains(a.body, "stream_not_live") {
		t.Errorf("off air: %d %s", a.status, a.body)
	}
	p := owner.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	cluster.place("a", 0)
	write(t, p, cliptest.Clip(t, decodable))
	owner.waitPlayable("a/p")

	answers := make(chan answer, 20)
	for range cap(answers) {
		go func() { answers <- owner.do("GET", path) }()
	}
	var first answer
	for range cap(answers) {
		if first = <-answers; first.status != 200 {
			t.Fatalf("%d %s", first.status, first.body)
		}
	}
	if n := made.Load(); n != 1 {
		t.Errorf("%d pictures were decoded for requests at the same time", n)
	}
	picture, err := jpeg.Decode(strings.NewReader(first.body))
	if err != nil || picture.Bounds().Dx() != 160 {
		t.Fatalf("%v, %v", err, picture)
	}
	if kind, caching := first.header.Get("Content-Type"), first.header.Get("Cache-Control"); kind != "image/jpeg" || caching != "public, max-age=10" {
		t.Errorf("%s, %s", kind, caching)
	}
	if a := owner.do("GET", path, "If-None-Match", first.header.Get("ETag")); a.status != http.StatusNotModified {
		t.Errorf("the same picture again: %d", a.status)
	}
	if a := edge.do("GET", path); a.status != 200 || a.body != first.body {
		t.Errorf("another node: %d, %d bytes", a.status, len(a.body))
	}
	if a := edge.do("HEAD", path); a.status != 200 || a.body != "" || a.header.Get("Content-Length") == "0" {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}

	p.Close()
	cluster.set("a", Place{})
	eventually(t, "the end", func() bool { return owner.do("GET", path).status == 404 })
	if a := edge.do("GET", path); a.status != 404 {
		t.Errorf("after the end, from another node: %d", a.status)
	}
}

// TestPicturesForAdmins: their tokens open the picture only, on each node, and the bytes are not counted.
func TestPicturesForAdmins(t *testing.T) {
	t.Parallel()
	c, _ := withThumbnails(Config{})
	cluster := newCluster(t, 2, c)
	owner, edge := cluster.nodes[0], cluster.nodes[1]
	p := owner.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	cluster.place("a", 0)
	write(t, p, cliptest.Clip(t, decodable))
	owner.waitPlayable("a/p")
	signed := playtoken.New(oneKey{})
	token := signed.SignPicture("a", time.Now().Add(time.Hour))
	playlist := strings.TrimPrefix(owner.media("a"), "/live/token-a/")
	_ = owner.meter.Read()
	for _, node := range cluster.nodes {
		if a := node.do("GET", "/live/"+token+"/thumbnail.jpg?turn=1"); a.status != 200 || a.header.Get("Content-Type") != "image/jpeg" {
			t.Errorf("%d %s", a.status, a.body)
		}
		for _, file := range []string{"index.m3u8", playlist} {
			if a := node.do("GET", "/live/"+token+"/"+file); a.status != 403 {
				t.Errorf("%s: %d %s", file, a.status, a.body)
			}
		}
	}
	if a := owner.do("GET", "/live/"+signed.SignPicture("a", time.Now().Add(-time.Second))+"/thumbnail.jpg"); a.status != 403 {
		t.Errorf("expired: %d %s", a.status, a.body)
	}
	if n := sum(owner.meter.Read()).BytesOut; n != 0 {
		t.Errorf("%d bytes were counted", n)
	}
	if n := edge.do("GET", "/live/token-a/thumbnail.jpg"); n.status != 200 || len(n.body) == 0 {
		t.Errorf("a viewer: %d", n.status)
	}
}

func TestNewerThumbnails(t *testing.T) {
	t.Parallel()
	now := atomic.Int64{}
	c, made := withThumbnails(Config{})
	c.Now = func() time.Time { return time.Unix(1_800_000_000, now.Load()) }
	s := newStudio(t, c)
	p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: true}, "p")
	before, after := upTo(cliptest.Clip(t, decodable), 2300*time.Millisecond)
	write(t, p, before)
	first := s.do("GET", "/live/token-a/thumbnail.jpg")
	write(t, p, after)
	if a := s.do("GET", "/live/token-a/thumbnail.jpg"); a.status != 200 || a.body != first.body || made.Load() != 1 {
		t.Errorf("within ten seconds: %d, %d pictures", a.status, made.Load())
	}
	now.Store(int64(10 * time.Second))
	if a := s.do("GET", "/live/token-a/thumbnail.jpg"); a.status != 200 || made.Load() != 2 {
		t.Errorf("after ten seconds: %d, %d pictures", a.status, made.Load())
	}
	now.Store(int64(30 * time.Second))
	if a := s.do("GET", "/live/token-a/thumbnail.jpg"); a.status != 200 || made.Load() != 2 {
		t.Errorf("without a new picture: %d, %d pictures", a.status, made.Load())
	}
}

func TestNoThumbnail(t *testing.T) {
	t.Parallel()
	c, _ := withThumbnails(Config{})
	s := newStudio(t, c)
	v, a := stillTracks(t)
	units := synthetic(v, a, 30, 2, 3*time.Second, 1)
	sound := s.publish(hub.Broadcast{StreamID: "sound"}, "p")
	write(t, sound, cliptest.Only(units, cliptest.NotVideo))
	broken := s.publish(hub.Broadcast{StreamID: "broken"}, "p")
	for _, u := range cliptest.Only(units, cliptest.IsVideo) {
		torn := *u
		torn.Data = []byte{0, 0, 0, 9, 0x65}
		write(t, broken, []*hub.Unit{&torn})
	}
	for _, stream := range []string{"sound", "broken"} {
		if a := s.do("GET", "/live/token-"+stream+"/thumbnail.jpg"); a.status != 404 || !strings.Contains(a.body, codeNoPicture) {
			t.Errorf("%s: %d %s", stream, a.status, a.body)
		}
	}
	if a := s.do("GET", "/live/bad/thumbnail.jpg"); a.status != 403 {
		t.Errorf("a forged token: %d", a.status)
	}
}
