package extractive_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/rooms/summary/extractive"
)

func meeting() []extractive.Line {
	return []extractive.Line{
		{"Ada", "Good morning everyone. Can you hear me?"},
		{"Ben", "Yes, loud and clear."},
		{"Ada", "Let's talk about the launch of the new studio camera. The launch was planned for Tuesday."},
		{"Cleo", "The launch video of the studio camera isn't ready before Wednesday. The sound needs another mix."},
		{"Ben", "Then the launch of the studio camera on Tuesday makes no sense without the launch video."},
		{"Ada", "OK, we decided: the launch moves to Thursday."},
		{"Ben", "I'll book the studio for Thursday morning."},
		{"Cleo", "The weather is nice by the way."},
		{"Ada", "Please send me the launch video by Wednesday evening, Cleo."},
		{"Cleo", "Will do. Is Thursday fine for the press as well?"},
		{"Ben", "The press wants the launch video one day before the launch on Thursday."},
	}
}

func TestItQuotesWhatMatters(t *testing.T) {
	d := extractive.Summarize(meeting())
	require.Contains(t, d.Short, "launch")
	require.NotContains(t, d.Short, "weather")
	require.NotEmpty(t, d.Highlights)
	require.LessOrEqual(t, len(d.Highlights), 6)
	require.NotContains(t, strings.Join(d.Highlights, "\n"), "loud and clear")
	require.Equal(t, []string{"Ada: OK, we decided: the launch moves to Thursday."}, d.Decisions)
	require.Contains(t, d.Tasks, "Ben: I'll book the studio for Thursday morning.")
	require.Contains(t, d.Tasks, "Ada: Please send me the launch video by Wednesday evening, Cleo.")
	require.Equal(t, d, extractive.Summarize(meeting()), "the same conversation has the same summary")
}

func TestGerman(t *testing.T) {
	d := extractive.Summarize([]extractive.Line{
		{"Ada", "Wir haben beschlossen, den Start auf Donnerstag zu legen."},
		{"Ben", "Ich kümmere mich um das Studio am Donnerstag."},
		{"Cleo", "Das Video für den Start ist am Mittwoch fertig."},
		{"Ben", "Der Start braucht das Video einen Tag vorher."},
	})
	require.Equal(t, []string{"Ada: Wir haben beschlossen, den Start auf Donnerstag zu legen."}, d.Decisions)
	require.Equal(t, []string{"Ben: Ich kümmere mich um das Studio am Donnerstag."}, d.Tasks)
	require.Contains(t, d.Short, "Start")
}

func TestTooLittleHasNoSummary(t *testing.T) {
	for _, lines := range [][]extractive.Line{nil, {{"Ada", ""}}, {{"Ada", "Hello!"}, {"Ben", "Hi."}}, {{"Ada", "!!! ??? …"}}} {
		d := extractive.Summarize(lines)
		require.Empty(t, d.Short)
		require.Empty(t, d.Highlights)
	}
}

func TestUnusualText(t *testing.T) {
	for name, text := range map[string]string{
		"repetition":    strings.Repeat("the same sentence again and again. ", 500),
		"no sentence":   strings.Repeat("word ", 5000),
		"bad UTF-8":     "one two three four \xff\xfe five.",
		"emoji":         strings.Repeat("👩‍👩‍👧‍👦 ", 1000),
		"one long word": strings.Repeat("a", 100_000),
		"no letters":    strings.Repeat(". ! ? ", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			d := extractive.Summarize([]extractive.Line{{"Ada", text}, {"Ben", "A sentence with several other words."}})
			for _, line := range d.Highlights {
				require.LessOrEqual(t, len([]rune(line)), 310)
			}
		})
	}
}

// TestALongConversation: the best sentence of each part is compared with those of the others.
func TestALongConversation(t *testing.T) {
	var lines []extractive.Line
	for i := range 5000 {
		lines = append(lines, extractive.Line{Speaker: "Ada", Text: fmt.Sprintf("Sentence %d is about subject%d and thing%d today.", i, i%97, i%89)})
	}
	d := extractive.Summarize(lines)
	require.Len(t, d.Highlights, 6)
}
