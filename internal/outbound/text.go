package outbound

import (
	"strings"
	"unicode/utf8"
)

// Text makes text of a stranger's bytes that the database can hold, as text and
// within JSON: what is no text is replaced, and the result cut to limit bytes on
// a character's boundary.
func Text(b []byte, limit int) string {
	text := strings.ToValidUTF8(string(whole(b, limit)), "\uFFFD")
	return string(whole([]byte(strings.ReplaceAll(text, "\x00", "\uFFFD")), limit))
}

// whole cuts b to limit bytes, and off a character that the cut has split.
func whole(b []byte, limit int) []byte {
	cut := len(b) >= limit
	b = b[:min(len(b), limit)]
	for i := 1; cut && i < utf8.UTFMax && i <= len(b); i++ {
		if start := b[len(b)-i]; utf8.RuneStart(start) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
