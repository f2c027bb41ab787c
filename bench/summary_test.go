package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/rooms/summary/extractive"
)

const (
	// An hour of talk: 9,000 words in sentences of 11 words.
	talkSentences   = 820
	wordsInSentence = 11
	vocabulary      = 3000
)

// BenchmarkSummary summarizes the transcript of an hour without a language model. The baseline is the division into words by spaces.
func BenchmarkSummary(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	frequent := rand.NewZipf(random, 1.1, 2, vocabulary-1)
	lines := make([]extractive.Line, talkSentences)
	for i := range lines {
		words := make([]string, wordsInSentence)
		for w := range words {
			words[w] = fmt.Sprintf("word%d", frequent.Uint64())
		}
		lines[i] = extractive.Line{Speaker: fmt.Sprintf("Speaker %d", i%4), Text: strings.Join(words, " ") + "."}
	}
	var splitting, summarizing time.Duration
	for b.Loop() {
		start := time.Now()
		count := 0
		for _, l := range lines {
			count += len(strings.Fields(strings.ToLower(l.Text)))
		}
		splitting += time.Since(start)
		require.Equal(b, talkSentences*wordsInSentence, count)
		start = time.Now()
		d := extractive.Summarize(lines)
		summarizing += time.Since(start)
		require.NotEmpty(b, d.Short)
	}
	b.ReportMetric(summarizing.Seconds()*1000/float64(b.N), "ms/summary")
	b.ReportMetric(float64(summarizing)/float64(splitting), "times-splitting")
}
