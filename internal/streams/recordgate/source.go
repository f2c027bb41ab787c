package recordgate

import (
	"context"
	"errors"
	"net/http"

	"showfloor/internal/base/blob"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/vod"
	"showfloor/internal/streams/recording"
)

// Media implements vod.Source.
func (g *Gate) Media(ctx context.Context, recordingID string, known []vod.TakeEnd) (vod.Media, error) {
	list := make([]recording.TakeEnd, len(known))
	for i, k := range known {
		list[i] = recording.TakeEnd(k)
	}
	m, err := g.recordings().Media(ctx, recordingID, list)
	if p, refused := problem.As(err); refused && p.Kind == problem.NotFound {
		return vod.Media{}, errors.Join(vod.ErrNotFound, err)
	}
	if err != nil {
		return vod.Media{}, err
	}
	if m.PlaylistURL != "" {
		return vod.Media{}, vod.ErrNotFound // an outside recorder serves it
	}
	return toVOD(m), nil
}

// toVOD converts what can be played of a recording.
func toVOD(m recording.Media) vod.Media {
	v := vod.Media{Ready: m.Status == recording.Ready, Inits: make([]vod.Init, len(m.Inits)), Segments: make([]vod.Segment, len(m.Segments))}
	for i, x := range m.Inits {
		v.Inits[i] = vod.Init{
			Take: x.Take, Number: x.Number, Codecs: x.Codecs, Width: x.Width, Height: x.Height, FrameRate: x.FrameRate,
			VideoBytes: x.VideoBytes, AudioBytes: x.AudioBytes,
		}
	}
	for i, x := range m.Segments {
		v.Segments[i] = vod.Segment{
			Take: x.Take, Number: x.Number, Init: x.Init, Discontinuity: x.Discontinuity, StartedAt: x.StartedAt, Duration: x.Duration,
			VideoBytes: x.VideoBytes, AudioBytes: x.AudioBytes,
		}
	}
	v.Storyboard = m.Storyboard
	for _, c := range m.Chapters {
		v.Chapters = append(v.Chapters, vod.Chapter(c))
	}
	for _, x := range m.Texts {
		v.Texts = append(v.Texts, vod.Text{Language: x.Language, Name: x.Name, Captions: x.Kind == recording.Captions, Version: x.Version})
	}
	return v
}

// Serve implements vod.Files.
func (g *Gate) Serve(w http.ResponseWriter, r *http.Request, key string, o vod.ServeOptions) error {
	err := g.files.Serve(w, r, key, blob.ServeOptions{CacheControl: o.CacheControl, Lifetime: o.Lifetime, NoRedirect: o.NoRedirect})
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrKey) {
		return errors.Join(vod.ErrNotFound, err)
	}
	return err
}
