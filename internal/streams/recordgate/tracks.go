package recordgate

import (
	"context"
	"fmt"
	"os"
	"strings"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/recording"
)

// finish stores the separate tracks of a part whose video is stored, and finishes the part. Their keys are the same at each attempt.
func (r *Rooms) finish(ctx context.Context, of recording.Claim, made compose.Result) error {
	id := of.PartID
	free, err := r.Gate.recordings().FreeTracks(ctx, id.RecordingID)
	if err != nil {
		return err
	}
	c := recording.ComposedPart{Length: made.Length}
	for n, v := range made.Voices {
		if len(c.Tracks) == free {
			made.LeftFiles += len(made.Voices) - n
			break
		}
		if _, err := os.Stat(v.Path); err != nil {
			r.Log.Error("a participant's track was lost", "recording", id.RecordingID, "error", err)
			made.LeftFiles++
			continue
		}
		size, err := r.Gate.PutFile(ctx, recordfile.Key(id.RecordingID, recordfile.SeparateTrack(id.Part, n+1, of.TracksKey)), v.Path)
		if err != nil {
			return fmt.Errorf("store a participant's track: %w", err)
		}
		c.Tracks = append(c.Tracks, recording.Track{Number: n + 1, UserID: v.UserID, Name: v.Name, Bytes: size})
	}
	c.Reason = missing(made)
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTime)
	defer cancel()
	return r.Gate.recordings().FinishComposedPart(storing, id, c)
}

// missing says for the tenant what a composition has left out; "" for nothing.
func missing(made compose.Result) string {
	var list []string
	add := func(count int, text string) {
		if count > 0 {
			list = append(list, fmt.Sprintf(text, count))
		}
	}
	add(made.LeftTracks, "some cameras, screens or microphones are missing (%d): there were more than 1000, or their codec isn't supported")
	add(made.LeftVoices, "some microphones can't be heard (%d): more than 80 were on at a time")
	add(made.LeftFiles, "some participants have no separate track (%d): there were too many, or their sound could not be read")
	return strings.Join(list, "; ")
}
