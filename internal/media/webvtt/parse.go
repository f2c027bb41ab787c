// Package webvtt reads WebVTT files (https://www.w3.org/TR/webvtt1/) and divides them into segments of HLS (RFC 8216, 3.5).
package webvtt

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// File is a parsed WebVTT file.
type File struct {
	// Styles are the STYLE and REGION blocks, each without a newline at its end.
	Styles []string
	// Cues are in the order of their beginnings.
	Cues []Cue
}

// Cue is a text and when it is shown, counted from the start of the media.
type Cue struct {
	// ID is empty for a cue without one.
	ID       string
	From, To time.Duration
	// Settings follow the times on their line, such as "line:0 align:start"; "" for none.
	Settings string
	// Text has no newline at its end.
	Text string
}

// SyntaxError is a fault of a file.
type SyntaxError struct {
	// Line counts from 1.
	Line    int
	Message string
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d %s", e.Line, e.Message) }

const arrow = "-->"

// Parse reads a file. It is stricter than players, which skip what they can't read: every fault is a *SyntaxError. A
// file with the header X-TIMESTAMP-MAP is refused too: it is a segment, and its times don't count from the media's start.
func Parse(text string) (*File, error) {
	p := parser{lines: strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\ufeff")), "\n")}
	if strings.ContainsRune(text, 0) {
		return nil, &SyntaxError{1, "or another one has a NUL character"}
	}
	if err := p.header(); err != nil {
		return nil, err
	}
	for p.skipEmpty() {
		if err := p.block(); err != nil {
			return nil, err
		}
	}
	return &p.file, nil
}

type parser struct {
	lines []string
	at    int
	file  File
}

func (p *parser) fault(at int, format string, args ...any) error {
	return &SyntaxError{at + 1, fmt.Sprintf(format, args...)}
}

// skipEmpty skips empty lines; false at the end.
func (p *parser) skipEmpty() bool {
	for p.at < len(p.lines) && p.lines[p.at] == "" {
		p.at++
	}
	return p.at < len(p.lines)
}

// rest returns the lines up to the next empty one.
func (p *parser) rest() []string {
	from := p.at
	for p.at < len(p.lines) && p.lines[p.at] != "" {
		p.at++
	}
	return p.lines[from:p.at]
}

func (p *parser) header() error {
	first, ok := strings.CutPrefix(p.lines[0], "WEBVTT")
	if !ok || first != "" && first[0] != ' ' && first[0] != '\t' {
		return p.fault(0, "must begin with WEBVTT")
	}
	for i, line := range p.rest() {
		switch {
		case strings.HasPrefix(line, "X-TIMESTAMP-MAP"):
			return p.fault(i, "has X-TIMESTAMP-MAP: the file is a segment; times must count from the recording's start")
		case strings.Contains(line, arrow):
			return p.fault(i, "has a cue; there must be an empty line after the header")
		}
	}
	return nil
}

// block reads a comment, a style, a region or a cue.
func (p *parser) block() error {
	start := p.at
	lines := p.rest()
	switch word := firstWord(lines[0]); {
	case strings.Contains(lines[0], arrow):
		return p.cue(start, "", lines)
	case word == "NOTE":
		return nil
	case (word == "STYLE" || word == "REGION") && strings.TrimSpace(lines[0]) == word:
		if len(p.file.Cues) > 0 {
			return p.fault(start, "has a %s block after a cue", word)
		}
		for i, line := range lines {
			if strings.Contains(line, arrow) {
				return p.fault(start+i, "has --> in a %s block", word)
			}
		}
		p.file.Styles = append(p.file.Styles, strings.Join(lines, "\n"))
		return nil
	case len(lines) > 1 && strings.Contains(lines[1], arrow):
		return p.cue(start+1, lines[0], lines[1:])
	default:
		return p.fault(start, "begins neither a cue nor a comment")
	}
}

func firstWord(line string) string {
	word, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	return word
}

// cue reads a cue, of which the first line has the times.
func (p *parser) cue(at int, id string, lines []string) error {
	from, rest, _ := strings.Cut(lines[0], arrow)
	rest = strings.TrimLeft(strings.ReplaceAll(rest, "\t", " "), " ")
	to, settings, _ := strings.Cut(rest, " ")
	c := Cue{ID: id, Settings: strings.TrimSpace(settings), Text: strings.Join(lines[1:], "\n")}
	var ok bool
	if c.From, ok = timestamp(strings.TrimRight(from, " \t")); !ok {
		return p.fault(at, "has a wrong beginning of the cue; write 00:01:02.500")
	}
	if c.To, ok = timestamp(to); !ok {
		return p.fault(at, "has a wrong end of the cue; write 00:01:02.500")
	}
	if c.To <= c.From {
		return p.fault(at, "has a cue that ends before it begins")
	}
	if n := len(p.file.Cues); n > 0 && c.From < p.file.Cues[n-1].From {
		return p.fault(at, "has a cue that begins before the cue above it")
	}
	for i, line := range lines[1:] {
		if strings.Contains(line, arrow) {
			return p.fault(at+1+i, "has --> in the text of a cue; there must be an empty line between cues")
		}
	}
	p.file.Cues = append(p.file.Cues, c)
	return nil
}

// maxHours bounds the hours of a time.
const maxHours = 9999

// timestamp parses [hours:]mm:ss.mmm.
func timestamp(text string) (time.Duration, bool) {
	whole, fraction, ok := strings.Cut(text, ".")
	parts := strings.Split(whole, ":")
	if !ok || len(parts) < 2 || len(parts) > 3 || len(fraction) != 3 {
		return 0, false
	}
	if len(parts) == 2 {
		parts = append([]string{"00"}, parts...)
	}
	if len(parts[0]) < 2 || len(parts[1]) != 2 || len(parts[2]) != 2 {
		return 0, false
	}
	var n [4]int
	for i, digits := range append(parts, fraction) {
		v, err := strconv.ParseUint(digits, 10, 31)
		if err != nil {
			return 0, false
		}
		n[i] = int(v)
	}
	if n[0] > maxHours || n[1] > 59 || n[2] > 59 {
		return 0, false
	}
	return time.Duration(n[0])*time.Hour + time.Duration(n[1])*time.Minute + time.Duration(n[2])*time.Second +
		time.Duration(n[3])*time.Millisecond, true
}
