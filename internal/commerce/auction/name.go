package auction

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShortName is the maximum length of the first word of a short name, in code points.
const maxShortName = 24

// ShortName is a bidder's name as other viewers see it: the first word and the first letter of the last one, such as "Bo L." for
// "Bo Lindqvist". The first word is cut after 24 code points, and of an e-mail address only the part before the @ is left. Characters
// that control the direction of text are removed, because they would change the text around the name.
func ShortName(name string) string {
	words := strings.Fields(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, name))
	if len(words) == 0 {
		return ""
	}
	first := words[0]
	if user, _, isAddress := strings.Cut(first, "@"); isAddress && user != "" {
		first = user
	}
	if utf8.RuneCountInString(first) > maxShortName {
		first = string([]rune(first)[:maxShortName-1]) + "…"
	}
	if len(words) == 1 {
		return first
	}
	return first + " " + initial(words[len(words)-1]) + "."
}

// initial is the first letter of a word, with the marks and joined emoji that belong to it.
func initial(word string) string {
	joined := false
	for i, r := range word {
		const joiner = '\u200d'
		belongs := i == 0 || joined || r == joiner || unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc, unicode.Variation_Selector) || isSkin(r)
		if !belongs {
			return word[:i]
		}
		joined = r == joiner
	}
	return word
}

// isSkin reports whether a code point sets the skin colour of the emoji before it.
func isSkin(r rune) bool { return r >= '\U0001F3FB' && r <= '\U0001F3FF' }
