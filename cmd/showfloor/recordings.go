package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"showfloor/internal/base/diskspace"
	"showfloor/internal/base/postgres"
	"showfloor/internal/media/compose"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/ladder"
	"showfloor/internal/media/recorder"
	"showfloor/internal/media/thumbnail"
	"showfloor/internal/media/transcoder"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/streams/recordgate"
	"showfloor/internal/streams/recording"
)

// openRecorder creates the recorder and the server of recordings. The storage must be open.
func (s *server) openRecorder() error {
	s.recordGate = recordgate.New(func() *recording.Service { return s.areas.Recordings }, s.files, s.log)
	space, err := diskspace.Measure(s.config.DataDir)
	if err != nil {
		return fmt.Errorf("RECORDING_SPOOL_MAX: measure the disk of DATA_DIR: %w", err)
	}
	s.recorder = recorder.New(recorder.Config{
		Dir: filepath.Join(s.config.DataDir, "spool"), Reports: s.recordGate, Files: s.recordGate,
		Stream:   func(id string) (*hub.Stream, bool) { return s.hub.Stream(id) },
		MaxSpool: int64(s.config.spoolMark.Of(space.Total)), Refuse: func() error { return s.disk.RefuseMore() },
		Now: s.clock.Now, Log: s.log,
	})
	s.recordGate.Connect(s.recorder)
	s.assets = &recordgate.Assets{Files: s.files, Pictures: thumbnail.New()}
	if !s.assets.Pictures.Works() {
		s.log.Warn("there is no ffmpeg on this machine: recordings get neither a poster nor a storyboard, and are not transcoded here; " +
			"sessions are not broadcast")
	}
	if err := s.openImporter(); err != nil {
		return err
	}
	s.openRenditions()
	if err := s.openRoomRecorder(); err != nil {
		return err
	}
	s.onStop("recordings", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, shutdownTime/3)
		defer cancel()
		return s.recorder.Close(ctx)
	})
	s.vod = vod.New(vod.Config{
		Tokens: playtoken.Late(func() *playtoken.Tokens { return s.areas.Playback }), Source: s.recordGate, Files: s.recordGate,
		MediaURL: s.config.MediaURL, Window: s.config.dvrWindow, ClientIP: s.clientIP, CDN: s.config.cdn.Sent, Meter: s.meter,
		NetworkRequests: s.config.hlsPerAddress, Now: s.clock.Now, Log: s.log,
	})
	return nil
}

// openRoomRecorder opens the recorder of rooms. Compositions begin with startSFU.
func (s *server) openRoomRecorder() (err error) {
	s.roomGate = &recordgate.Rooms{
		Gate: s.recordGate, Dir: filepath.Join(s.config.DataDir, "compose"), Workers: max(s.config.transcodeWorkers, 1),
		Refuse: func() error { return s.disk.RefuseMore() }, Now: s.clock.Now, Log: s.log,
	}
	s.roomRecorder, err = s.roomGate.Open(filepath.Join(s.config.DataDir, "rooms"), compose.New(s.log))
	return err
}

// openImporter opens the folder of SRS_DVR_DIR, if it is set.
func (s *server) openImporter() error {
	if s.config.srsLocal == "" {
		return nil
	}
	root, err := os.OpenRoot(s.config.srsLocal)
	if err != nil {
		return fmt.Errorf("SRS_DVR_DIR: %w", err)
	}
	i := &recordgate.Importer{
		Remote: s.config.srsRemote, Root: root, Gate: s.recordGate, Dir: filepath.Join(s.config.DataDir, "import"),
		Refuse: func() error { return s.disk.RefuseMore() }, Now: s.clock.Now, Log: s.log,
	}
	if err := i.RemoveStale(); err != nil {
		s.log.Warn("the local files of unfinished imports could not be removed", "error", err)
	}
	s.importer = i // an interface: without the setting it must stay nil
	s.onStop("SRS_DVR_DIR", func(context.Context) error { return root.Close() })
	return nil
}

// openRenditions creates the makers of transcodes' files and of packages, unless TRANSCODE_WORKERS is 0. Transcodes need an ffmpeg.
func (s *server) openRenditions() {
	m := &recordgate.Renditions{
		Files: s.files, Engine: transcoder.New(), Dir: filepath.Join(s.config.DataDir, "transcodes"),
		Refuse: func() error { return s.disk.RefuseMore() },
	}
	if err := m.RemoveStale(); err != nil {
		s.log.Warn("the local files of unfinished transcodes could not be removed", "error", err)
	}
	if s.config.transcodeWorkers == 0 {
		return // the fields are interfaces: they must stay nil
	}
	s.packages = &recordgate.Packages{Files: s.files, Refuse: m.Refuse}
	if m.Engine.Works() {
		s.renditions = m
	}
}

// withUploads serves the upload URLs of outside transcoders and packagers, if there are any. The limits of API requests are too narrow
// for files.
func (s *server) withUploads(api http.Handler) http.Handler {
	if s.config.TranscoderURL == "" && s.config.PackagerURL == "" {
		return api
	}
	uploads := &recordgate.Uploads{
		Jobs: func() *mediajob.Service { return s.areas.MediaJobs }, Files: s.files, Log: s.log,
		Refuse: func() error { return s.disk.RefuseMore() },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, recordgate.UploadPrefix) {
			uploads.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// startRecorder continues with what a killed server left in the spool, and then follows the recordings of this node's streams.
// It must come before the jobs, which close silent takes.
func (s *server) startRecorder(ctx context.Context) error {
	if err := s.recorder.Recover(ctx); err != nil {
		return fmt.Errorf("continue recordings: %w", err)
	}
	listener := &postgres.Listener{
		Pool: s.pool, Channel: recording.Channel, Connected: s.recordGate.Poll, Heard: s.recordGate.Changed, Log: s.log,
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { s.recordGate.Watch(watching) })
	work.Go(func() { listener.Run(watching) })
	s.onStop("recordings' notifications", func(context.Context) error {
		stop()
		work.Wait()
		return nil
	})
	return nil
}

// watchLadder adds the figures of the encoders of live renditions.
func (m *metrics) watchLadder(l *ladder.Ladder) {
	m.gauge("ladders_active", "Live streams whose renditions are being encoded on this server.",
		func() float64 { return float64(l.Encoding()) })
	m.counter("ladder_failures_total", "Encoders of live streams that were too slow or ended by themselves.",
		func() float64 { return float64(l.Failures()) })
}

// watchRecorder adds the gauges of the recorder and of the server of recordings.
func (m *metrics) watchRecorder(r *recorder.Recorder, v *vod.Server) {
	m.gauge("recordings_active", "Streams that are being recorded on this server.", func() float64 { return float64(r.Stats().Active) })
	m.gauge("recordings_waiting", "Ended recordings whose files are not all in the storage yet.",
		func() float64 { return float64(r.Stats().Waiting) })
	m.gauge("recordings_spool_bytes", "Size of the local files that are being recorded or wait for the storage.",
		func() float64 { return float64(r.Stats().SpoolBytes) })
	m.counter("recordings_cut_short_total",
		"Recordings that ended early because of a full disk, a storage that was away, or an encoder beyond its bounds.",
		func() float64 { return float64(r.Stats().CutShort) })
	m.gauge("vod_requests", "Requests for recordings that are being served.", func() float64 { return float64(v.Stats().Requests) })
	m.counter("vod_refused_total", "Requests for recordings that were refused because too many were being served.",
		func() float64 { return float64(v.Stats().Refused) })
	m.counter("vod_bytes_total", "Bytes of recordings that were sent.", func() float64 { return float64(v.Stats().BytesOut) })
}
