package auction

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShortName is the maximum length of the first word of a short name, in code points.
const maxShortName = 20

// ShortName is a person's name as other viewers see it: the first word and the first letter of the last one, such as "Bo L." for
// "Bo Lindqvist". The first word is cut after 20 code points, and of an e-mail address only the part before the @ is left. Characters
// that control a text's direction are left out, because they would change the text around the name.
func ShortName(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
	if len(words) == 0 {
		return ""
	}
	short := words[0]
	if user, _, isAddress := strings.Cut(short, "@"); isAddress && user != "" {
		short = user
	}
	if utf8.RuneCountInString(short) > maxShortName {
		short = string([]rune(short)[:maxShortName]) + "…"
	}
	if len(words) > 1 {
		short += " " + initial(words[len(words)-1]) + "."
	}
	return short
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
