package sfu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheBroadcastShowsTheSpeaker(t *testing.T) {
	t.Parallel()
	ann, ben, screen := candidate{"1", "ann", false}, candidate{"2", "ben", false}, candidate{"3", "ann", true}
	start := time.Unix(1000, 0)
	var c choice
	for _, step := range []struct {
		why       string
		at        int // in seconds
		list      []candidate
		spotlight string
		speakers  []string
		want      string
	}{
		{"there is none", 0, nil, "", []string{"ann"}, ""},
		{"any camera", 1, []candidate{ann, ben}, "", nil, "1"},
		{"held", 2, []candidate{ann, ben}, "", []string{"ben"}, "1"},
		{"the speaker", 3, []candidate{ann, ben}, "", []string{"ben", "ann"}, "2"},
		{"a pause", 10, []candidate{ann, ben}, "", nil, "2"},
		{"a speaker without a camera", 11, []candidate{ann, ben}, "", []string{"cid"}, "2"},
		{"the loudest with a camera", 12, []candidate{ann, ben}, "", []string{"cid", "ann"}, "1"},
		{"its camera is off", 13, []candidate{ben}, "", []string{"ann"}, "2"},
		{"a screen at once", 13, []candidate{ann, ben, screen}, "", []string{"ben"}, "3"},
		{"the screen stays", 20, []candidate{ann, {"0", "ben", true}, screen}, "ben", nil, "3"},
		{"the screen ends", 21, []candidate{ann, ben}, "", []string{"ben"}, "2"},
		{"the spotlight at once", 21, []candidate{ann, ben}, "ann", []string{"ben"}, "1"},
		{"a spotlight without a camera", 30, []candidate{ann, ben}, "cid", []string{"ben"}, "2"},
		{"all are off", 31, nil, "ann", []string{"ann"}, ""},
	} {
		require.Equal(t, step.want, c.next(start.Add(time.Duration(step.at)*time.Second), step.list, step.spotlight, step.speakers), step.why)
	}
}

func TestTheSpotlightIsReadFromTheSession(t *testing.T) {
	t.Parallel()
	name := "ann"
	for want, session := range map[string][]map[string]any{
		"ann": {{"spotlightUserId": &name}, {"spotlightUserId": name}},
		"":    {nil, {"spotlightUserId": (*string)(nil)}, {"spotlightUserId": nil}},
	} {
		for _, s := range session {
			require.Equal(t, want, (&room{session: s}).spotlight())
		}
	}
}
