package sfu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxLine is the longest line of a description, in bytes. A group may be longer: it has
	// groupBytes for each section.
	maxLine    = 4 << 10
	groupBytes = 8
	// maxPayloadType is the highest payload type of RTP.
	maxPayloadType = 127
)

// filterDescription reduces a client's offer or answer to the lines that the server reads. pion looks
// through all attributes of a section once for each of its payload types, so its work grows with
// the product of both. A section keeps the first payload type of each codec in knownCodecs, and
// the repair or redundancy of that payload type. A section without a known codec keeps its first
// payload type, so that it stays a section. Other lines stay in their order if pion or this
// package reads them. Candidates are dropped: the server never connects to a client. Errors are
// to the client.
func filterDescription(text string, l Limits) (string, error) {
	f := descriptionFilter{sections: []*filteredSection{{}}, limits: l}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if err := f.add(line); err != nil {
			return "", err
		}
	}
	known := knownCodecs()
	var out strings.Builder
	for _, s := range f.sections {
		s.write(&out, known)
	}
	return out.String(), nil
}

// descriptionFilter is a description during filtering.
type descriptionFilter struct {
	limits     Limits
	sections   []*filteredSection // the first holds the session-level lines, before all media
	candidates int
}

// filteredSection holds the lines and payload types that are kept of a section.
type filteredSection struct {
	head    string // the m= line up to the payload types, which are formats
	kind    string
	formats []string
	lines   []string
	counts  map[string]int     // of lines, by attribute
	codecs  map[string]*format // by payload type
}

// format holds the attributes of a payload type.
type format struct {
	name, parameters string // of rtpmap and fmtp, without the payload type
	feedback         []string
}

func (f *descriptionFilter) add(line string) error {
	current := f.sections[len(f.sections)-1]
	if strings.HasPrefix(line, "m=") {
		if len(f.sections) > f.limits.Sections {
			return fmt.Errorf("the description has more than %d media sections", f.limits.Sections)
		}
		s, err := newFilteredSection(line)
		f.sections = append(f.sections, s)
		return err
	}
	attribute, isAttribute := strings.CutPrefix(line, "a=")
	if !isAttribute {
		return current.keep(line[:min(1, len(line))], line, 32, maxLine)
	}
	key, value, _ := strings.Cut(attribute, ":")
	switch key {
	case "candidate":
		if f.candidates++; f.candidates > f.limits.Candidates {
			return fmt.Errorf("the description has more than %d candidates", f.limits.Candidates)
		}
		return nil
	case "rtpmap", "fmtp", "rtcp-fb":
		current.describe(key, value)
		return nil
	}
	longest := maxLine
	if key == "group" {
		longest = max(longest, groupBytes*f.limits.Sections)
	}
	if lines := maxLines(key); lines > 0 {
		return current.keep(key, line, lines, longest)
	}
	return nil
}

// maxLines is how many lines of an attribute a section may have; 0 for an attribute that nothing
// reads.
func maxLines(attribute string) int {
	switch attribute {
	case "group", "msid-semantic", "ice-lite", "ice-options", "ice-ufrag", "ice-pwd", "setup", "extmap-allow-mixed", "mid", "rtcp-mux",
		"rtcp-rsize", "rtcp", "bundle-only", "simulcast", sendonly, recvonly, sendrecv, inactive:
		return 4
	case "fingerprint", "msid":
		return 8
	case "rid", "ssrc-group":
		return 16
	case "extmap", "ssrc":
		return 64
	}
	return 0
}

func newFilteredSection(line string) (*filteredSection, error) {
	if len(line) > maxLine {
		return nil, errLongLine(maxLine)
	}
	fields := strings.Fields(line)
	s := &filteredSection{head: line, codecs: map[string]*format{}}
	if len(fields) > 3 {
		s.head, s.kind, s.formats = strings.Join(fields[:3], " "), strings.TrimPrefix(fields[0], "m="), fields[3:]
	}
	return s, nil
}

func errLongLine(longest int) error {
	return fmt.Errorf("a line of the description is longer than %d bytes", longest)
}

// keep keeps a line. Its errors are for lines of more than longest bytes, and for more than most
// lines of a key in a section.
func (s *filteredSection) keep(key, line string, most, longest int) error {
	if len(line) > longest {
		return errLongLine(longest)
	}
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	if s.counts[key]++; s.counts[key] > most {
		return fmt.Errorf("a section of the description has more than %d lines of %s", most, key)
	}
	s.lines = append(s.lines, line)
	return nil
}

// describe stores an attribute of a payload type.
func (s *filteredSection) describe(key, value string) {
	pt, rest, _ := strings.Cut(value, " ")
	if n, err := strconv.Atoi(pt); s.codecs == nil || pt != "*" && (err != nil || n < 0 || n > maxPayloadType || strconv.Itoa(n) != pt) {
		return
	}
	c := s.codecs[pt]
	if c == nil {
		c = &format{}
		s.codecs[pt] = c
	}
	rest = strings.TrimSpace(rest)
	switch {
	case key == "rtpmap" && c.name == "":
		c.name = rest
	case key == "fmtp" && c.parameters == "" && len(rest) <= maxLine:
		c.parameters = rest
	case key == "rtcp-fb" && isFeedback(rest) && !slices.Contains(c.feedback, rest):
		c.feedback = append(c.feedback, rest)
	}
}

// isFeedback reports whether the server supports a kind of RTCP feedback.
func isFeedback(value string) bool {
	switch value {
	case "nack", "nack pli", "ccm fir", "transport-cc":
		return true
	}
	return false
}

// choose returns the payload types that a section keeps, in the order of the description.
func (s *filteredSection) choose(known map[string]bool) []string {
	codecs := map[string]string{} // the codec of each chosen payload type
	taken := map[string]bool{}
	for _, pt := range s.formats {
		c := s.codecs[pt]
		if c == nil || codecs[pt] != "" {
			continue
		}
		if codec := codecOf(s.kind, c.name, c.parameters); known[codec] && !taken[codec] {
			taken[codec], codecs[pt] = true, codec
		}
	}
	var list []string
	for _, pt := range s.formats {
		c := s.codecs[pt]
		if c == nil || slices.Contains(list, pt) {
			continue
		}
		if around := s.around(c); codecs[pt] != "" {
			list = append(list, pt)
		} else if codecs[around] != "" && !taken[around] {
			taken[around] = true
			list = append(list, pt)
		}
	}
	if len(list) == 0 && len(s.formats) > 0 {
		list = s.formats[:1]
	}
	return list
}

// around returns the payload type that RTX repairs or RED repeats; empty for other codecs.
func (s *filteredSection) around(c *format) string {
	switch name := strings.ToLower(c.name); {
	case s.kind == kindVideo && name == "rtx/90000":
		return parameters(c.parameters)["apt"]
	case s.kind == kindAudio && name == "red/48000/2":
		inner, _, _ := strings.Cut(c.parameters, "/")
		if carriesOnly(c.parameters, inner) {
			return inner
		}
	}
	return ""
}

// write writes the kept lines of the section.
func (s *filteredSection) write(out *strings.Builder, known map[string]bool) {
	line := func(parts ...string) {
		for _, part := range parts {
			out.WriteString(part)
		}
		out.WriteString("\r\n")
	}
	formats := s.choose(known)
	if s.head != "" {
		line(strings.Join(slices.Concat([]string{s.head}, formats), " "))
	}
	for _, l := range s.lines {
		line(l)
	}
	for _, pt := range slices.Concat(formats, []string{"*"}) { // * is feedback for all payload types
		c := s.codecs[pt]
		if c == nil {
			continue
		}
		if c.name != "" && pt != "*" {
			line("a=rtpmap:", pt, " ", c.name)
		}
		if c.parameters != "" && pt != "*" {
			line("a=fmtp:", pt, " ", c.parameters)
		}
		for _, f := range c.feedback {
			line("a=rtcp-fb:", pt, " ", f)
		}
	}
}
