package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// calendarOf returns the calendar file of a show that starts on 1 March 2030 at 19:30 in Berlin.
func calendarOf(t *testing.T, v *viewer, title string, now time.Time) string {
	t.Helper()
	entry, err := json.Marshal(map[string]string{
		"id": "str_01HZX", "title": title, "start": "2030-03-01T19:30:00.000+01:00",
		"url": "https://shop.example/scenarios/shopping/?room=str_01HZX&utm_source=mail",
	})
	require.NoError(t, err)

	return browsertest.Value[string](t, v.tab, `module.calendar(`+string(entry)+`, new Date("`+now.Format(time.RFC3339)+`"))`)
}

// contentLines checks the lines of a calendar file by RFC 5545, section 3.1, and returns them unfolded.
func contentLines(t *testing.T, file string) []string {
	t.Helper()
	require.True(t, utf8.ValidString(file))
	require.True(t, strings.HasSuffix(file, "\r\n"))
	lines := strings.Split(strings.TrimSuffix(file, "\r\n"), "\r\n")
	unfolded := []string{}
	for _, line := range lines {
		require.LessOrEqual(t, len(line), 75, "octets of %q", line)
		require.True(t, utf8.ValidString(line), "%q ends within a character", line)
		require.NotContains(t, line, "\n")
		require.NotContains(t, line, "\r")
		if rest, folded := strings.CutPrefix(line, " "); folded {
			unfolded[len(unfolded)-1] += rest
		} else {
			unfolded = append(unfolded, line)
		}
	}

	return unfolded
}

// property returns the one value of a property.
func property(t *testing.T, lines []string, name string) string {
	t.Helper()
	values := []string{}
	for _, line := range lines {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			values = append(values, value)
		}
	}
	require.Len(t, values, 1, name)

	return values[0]
}

// unescape reads a TEXT value (RFC 5545, section 3.3.11), which has none of these characters unescaped.
func unescape(t *testing.T, value string) string {
	t.Helper()
	text := strings.Builder{}
	for rest := value; rest != ""; {
		if rest[0] != '\\' {
			require.NotContains(t, ",;", rest[:1], "unescaped in %q", value)
			text.WriteByte(rest[0])
			rest = rest[1:]

			continue
		}
		require.GreaterOrEqual(t, len(rest), 2)
		switch rest[1] {
		case 'n', 'N':
			text.WriteByte('\n')
		case '\\', ',', ';':
			text.WriteByte(rest[1])
		default:
			t.Fatalf("%q is no escape of a TEXT", rest[:2])
		}
		rest = rest[2:]
	}

	return text.String()
}

// TestCalendarFileKeepsToItsStandard: lines end with CRLF and are folded at 75 octets between characters, times are in UTC, and a title
// with any characters is read back as it was. Control characters, which a TEXT can't have, are left out.
func TestCalendarFileKeepsToItsStandard(t *testing.T) {
	t.Parallel()
	v := openModule(t, "shopping/calendar.ts", "en-GB")
	now := time.Date(2030, 2, 1, 8, 0, 5, 0, time.UTC)
	for name, c := range map[string][2]string{
		"short":             {"Autumn ceramics", "Autumn ceramics"},
		"marks":             {`Cups, plates; bowls \ more: "all"`, `Cups, plates; bowls \ more: "all"`},
		"lines":             {"one\ntwo\r\nthree\rfour", "one\ntwo\nthree\nfour"},
		"injection":         {"Show\r\nATTENDEE:mailto:eve@example.com\rEND:VEVENT", "Show\nATTENDEE:mailto:eve@example.com\nEND:VEVENT"},
		"emoji":             {strings.Repeat("👩‍👩‍👧‍👦🏺é", 30), strings.Repeat("👩‍👩‍👧‍👦🏺é", 30)},
		"right to left":     {"\u202eسيراميك\u202c الخريف \u2067abc\u2069", "\u202eسيراميك\u202c الخريف \u2067abc\u2069"},
		"500-letter word":   {strings.Repeat("ß", 500), strings.Repeat("ß", 500)},
		"escapes at a fold": {strings.Repeat(`,;\`, 60), strings.Repeat(`,;\`, 60)},
		"controls":          {"a\x00b\x07c\x7fd\te", "abcd\te"},
	} {
		lines := contentLines(t, calendarOf(t, v, c[0], now))
		require.Equal(t, c[1], unescape(t, property(t, lines, "SUMMARY")), name)
		require.Equal(t, "20300201T080005Z", property(t, lines, "DTSTAMP"), name)
		require.Equal(t, "20300301T183000Z", property(t, lines, "DTSTART"), name)
		require.Equal(t, "20300301T193000Z", property(t, lines, "DTEND"), name)
		require.Equal(t, "https://shop.example/scenarios/shopping/?room=str_01HZX&utm_source=mail", property(t, lines, "URL"), name)
		require.Equal(t, []string{"BEGIN:VCALENDAR", "VERSION:2.0"}, lines[:2], name)
		require.Equal(t, "END:VCALENDAR", lines[len(lines)-1], name)
		begun := []string{}
		for _, line := range lines {
			if part, ok := strings.CutPrefix(line, "BEGIN:"); ok {
				begun = append(begun, part)
			} else if part, ok := strings.CutPrefix(line, "END:"); ok {
				require.Equal(t, begun[len(begun)-1], part, name)
				begun = begun[:len(begun)-1]
			}
		}
		require.Empty(t, begun, name)
	}
}

// TestCalendarFileReplacesItsFormerOne: a file that is saved later has the same UID, so that the calendar changes its entry.
func TestCalendarFileReplacesItsFormerOne(t *testing.T) {
	t.Parallel()
	v := openModule(t, "shopping/calendar.ts", "en-GB")
	now := time.Date(2030, 2, 1, 8, 0, 0, 0, time.UTC)
	first := contentLines(t, calendarOf(t, v, "Autumn ceramics", now))
	second := contentLines(t, calendarOf(t, v, "Winter ceramics", now.Add(24*time.Hour)))
	require.Equal(t, property(t, first, "UID"), property(t, second, "UID"))
	require.Less(t, property(t, first, "DTSTAMP"), property(t, second, "DTSTAMP"))
}
