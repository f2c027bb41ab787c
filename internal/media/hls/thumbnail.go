package hls

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/mediahttp"
)

const (
	// thumbnailTime is how long a thumbnail is served before a newer picture is decoded, and how long caches may keep it.
	thumbnailTime = 10 * time.Second
	// decodeTime bounds the decoding of a picture, including the wait for other streams' pictures.
	decodeTime    = 5 * time.Second
	thumbnailType = "image/jpeg"
	// codeNoPicture: the stream has only sound, or its pictures can't be decoded.
	codeNoPicture = "no_picture"
)

// thumbnails makes the JPEG files of one stream. All requests share a file, and the decoding of the next one.
type thumbnails struct {
	mu     sync.Mutex
	unit   *hub.Unit // the picture of the file
	file   []byte
	etag   string
	until  time.Time     // the file is served without a look at the stream before that time
	making chan struct{} // closed when the next file is there; nil when none is being made
}

// serveThumbnail answers with the stream's newest key picture, at most thumbnailTime old if the encoder sends key pictures
// that often.
func (s *Server) serveThumbnail(v *visit) *mediahttp.Problem {
	if v.expired {
		return mediahttp.Expired()
	}
	m := s.newest(v.streamID)
	if m == nil || m.stream.Reason() != nil {
		if served, p := s.elsewhere(v); served {
			return p
		}
		return mediahttp.Refuse(http.StatusNotFound, "stream_not_live", "the stream is not live")
	}
	v.stampBroadcast(m)
	file, etag, err := m.thumbnails.get(v.r.Context(), m.stream, s)
	switch {
	case err != nil && v.r.Context().Err() == nil:
		p := mediahttp.Refuse(http.StatusServiceUnavailable, "busy", "the server is decoding too many pictures at the moment; try again")
		p.RetryAfter = 1
		return p
	case file == nil:
		return mediahttp.Refuse(http.StatusNotFound, codeNoPicture, "the stream has no picture that can be shown")
	}
	out := s.output(v, m)
	h := v.w.Header()
	h.Set("Content-Type", thumbnailType)
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(thumbnailTime.Seconds())))
	h.Set("ETag", etag)
	out.begin()
	ranged := &mediahttp.RangedWriter{ResponseWriter: v.w}
	http.ServeContent(ranged, v.r, "", time.Time{}, bytes.NewReader(file))
	out.count(int(ranged.Written))
	return nil
}

// get returns the file; nil if the stream has no picture that can be shown. An error means that it isn't there in time.
func (t *thumbnails) get(ctx context.Context, stream *hub.Stream, s *Server) (file []byte, etag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, decodeTime)
	defer cancel()
	for {
		t.mu.Lock()
		unit := stream.KeyPicture()
		if s.config.JPEG == nil || unit == t.unit || s.config.Now().Before(t.until) {
			defer t.mu.Unlock()
			return t.file, t.etag, nil
		}
		if t.making == nil {
			t.making = make(chan struct{})
			if !s.start(func() { t.make(s, unit) }) {
				t.making = nil
				t.mu.Unlock()
				return nil, "", context.Canceled
			}
		}
		making := t.making
		t.mu.Unlock()
		select {
		case <-making:
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
}

// make decodes a picture. A picture that can't be decoded removes the file.
func (t *thumbnails) make(s *Server, unit *hub.Unit) {
	ctx, cancel := context.WithTimeout(s.ctx, decodeTime)
	defer cancel()
	file, err := s.config.JPEG(ctx, unit)
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.making)
	t.making = nil
	if errors.Is(err, context.DeadlineExceeded) {
		if t.file != nil {
			t.until = s.config.Now().Add(thumbnailTime / 10) // the machine is busy; the older file remains meanwhile
		}
		return // without a file, the waiting requests begin again until their own deadline
	}
	sum := sha256.Sum256(file)
	t.unit, t.file, t.etag = unit, file, `"`+base64.RawURLEncoding.EncodeToString(sum[:12])+`"`
	t.until = s.config.Now().Add(thumbnailTime)
}
