// Package extractive summarises a conversation by quoting it, without a language model. A sentence is important if many others share
// its rare words. This is TextRank (Mihalcea and Tarau, 2004) with the cosine of tf-idf vectors as the similarity. It needs no
// dictionary, so it works in any language that puts spaces between words; tasks and decisions are found in English and German.
//
// There is no library for it that is maintained, takes sentences as they are, and doesn't fail on unusual text. Sentences and words are
// split by github.com/clipperhouse/uax29 as Unicode prescribes.
package extractive

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a summary.
const (
	maxHighlights = 6
	maxTasks      = 10
	maxDecisions  = 10
	// quoted is how many sentences the shortest summary has.
	quoted = 2
	// enoughSentences is how many sentences a conversation needs for a summary.
	enoughSentences = 3
	// maxQuote is the maximum length of a quoted sentence, in characters.
	maxQuote = 300
)

// Line is what one person said or wrote.
type Line struct{ Speaker, Text string }

// Digest is a summary. A quote is "<speaker>: <sentence>".
type Digest struct {
	// Short is two quotes; empty if there is too little text.
	Short string
	// Highlights, Tasks and Decisions are in the order of the conversation.
	Highlights, Tasks, Decisions []string
}

// Summarize returns a summary of the lines, which are in the order of the conversation.
func Summarize(lines []Line) Digest {
	all := split(lines)
	best := rank(all)
	var d Digest
	if len(best) >= enoughSentences {
		d.Short = strings.Join(quotes(all, best[:quoted]), " ")
		d.Highlights = quotes(all, best[:min(len(best), maxHighlights)])
	}
	d.Tasks = quotes(all, matching(all, func(s sentence) bool { return isTask(s) && !isDecision(s) }, maxTasks))
	d.Decisions = quotes(all, matching(all, isDecision, maxDecisions))
	return d
}

// quotes are these sentences in the order of the conversation.
func quotes(all []sentence, chosen []int) []string {
	list := make([]string, 0, len(chosen))
	for _, i := range slices.Sorted(slices.Values(chosen)) {
		list = append(list, all[i].speaker+": "+shorten(all[i].text))
	}
	return list
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxQuote {
		return text
	}
	return string([]rune(text)[:maxQuote-1]) + "…"
}

// matching are the first sentences with this property, without repetitions.
func matching(all []sentence, has func(s sentence) bool, most int) (list []int) {
	seen := map[string]bool{}
	for i, s := range all {
		key := strings.Join(s.words, " ")
		if len(list) < most && !seen[key] && has(s) {
			seen[key] = true
			list = append(list, i)
		}
	}
	return list
}
