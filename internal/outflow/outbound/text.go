package outbound

import (
	"strings"
	"unicode/utf8"
)

// Text converts foreign bytes to text that the database can store, also in JSON.
// It replaces bytes that are no text, and cuts the result to limit bytes at the
// end of a character.
func Text(b []byte, limit int) string {
	text := strings.ToValidUTF8(string(whole(b, limit)), "\uFFFD")
	return string(whole([]byte(strings.ReplaceAll(text, "\x00", "\uFFFD")), limit))
}

// whole cuts b to limit bytes and removes a character that the cut has split.
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
