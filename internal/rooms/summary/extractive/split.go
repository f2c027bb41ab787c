package extractive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
	"github.com/clipperhouse/uax29/v2/words"
)

const (
	// maxWords is how many words of a sentence are compared.
	maxWords = 80
	// maxSentences is how many sentences are compared: the first ones. They take a second of CPU time.
	maxSentences = 20_000
)

// sentence is a sentence of the conversation.
type sentence struct {
	speaker, text string
	// words are its words in lower case.
	words []string
}

// split divides the lines into sentences.
func split(lines []Line) (all []sentence) {
	for _, l := range lines {
		text := sentences.FromString(l.Text)
		for text.Next() && len(all) < maxSentences {
			one := strings.Join(strings.Fields(text.Value()), " ")
			if found := wordsOf(one); len(found) > 0 {
				all = append(all, sentence{l.Speaker, one, found})
			}
		}
	}
	return all
}

// wordsOf returns the words with a letter or digit, in lower case.
func wordsOf(text string) (list []string) {
	tokens := words.FromString(text)
	for tokens.Next() && len(list) < maxWords {
		token := tokens.Value()
		if first, _ := utf8.DecodeRuneInString(token); unicode.IsLetter(first) || unicode.IsDigit(first) {
			list = append(list, strings.ToLower(token))
		}
	}
	return list
}
