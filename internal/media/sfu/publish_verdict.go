package sfu

import (
	"slices"

	"github.com/pion/webrtc/v4"
)

// judge decides on each section, and ends what isn't sent or may not be sent any
// more. What is refused is negotiated with pion all the same, and what arrives of
// it never read further: so nothing has to change in pion when it is allowed later.
func (u *publisher) judge(d *description, sources []section, carriers map[string]string) []refusedSection {
	refused := []refusedSection{}
	named := bySection(sources)
	for _, s := range d.sections {
		if !s.sends {
			u.end(s.mid)
			u.keep(d, s)
			s.narrow()
			continue
		}
		source := named[s.mid]
		code, text := u.verdict(s, source)
		if code == "" && carriers[source] != s.mid {
			code, text = codeTooMany, "one track of each source: section "+carriers[source]+" carries your "+source
		}
		if code != "" {
			refused = append(refused, refusedSection{s.mid, code, text})
			u.end(s.mid)
			s.narrow()
			continue
		}
		if pub := u.sections[s.mid]; pub == nil || pub.source != source {
			u.end(s.mid)
			u.sections[s.mid] = &publication{mid: s.mid, source: source, id: newTrackID(), rids: s.rids}
		}
	}
	// A section that isn't described any more doesn't send either.
	for mid := range u.sections {
		if !slices.ContainsFunc(d.sections, func(s *mediaSection) bool { return s.mid == mid }) {
			u.end(mid)
		}
	}
	return refused
}

// carriers is the section that carries each source: the one that does already, else the
// first that may. A participant has one track of each source, so that nobody takes more
// than one place in the sound and on the screens of others.
func (u *publisher) carriers(d *description, sources []section) map[string]string {
	named := bySection(sources)
	carriers := map[string]string{}
	for _, s := range d.sections {
		source := named[s.mid]
		if code, _ := u.verdict(s, source); !s.sends || code != "" {
			continue
		}
		pub := u.sections[s.mid]
		if _, taken := carriers[source]; !taken || pub != nil && pub.source == source {
			carriers[source] = s.mid
		}
	}
	return carriers
}

// begun counts the publications that begin with an offer whose sources carriers carry.
func (u *publisher) begun(carriers map[string]string) (n int) {
	for source, mid := range carriers {
		if pub := u.sections[mid]; pub == nil || pub.source != source {
			n++
		}
	}
	return n
}

// bySection is the source that each section carries.
func bySection(sources []section) map[string]string {
	named := map[string]string{}
	for _, s := range sources {
		named[s.MID] = s.Source
	}
	return named
}

// verdict tells why a section is refused for what it is; an empty code when it isn't.
func (u *publisher) verdict(s *mediaSection, source string) (code, text string) {
	switch {
	case source == "":
		return CodeBadMessage, "tracks doesn't say what this section carries"
	case kindOf(source) != s.kind:
		return CodeBadMessage, "a section of " + s.kind + " can't carry " + source
	case !u.p.grant.Perms.may(source):
		return CodeForbidden, "you may not publish " + source
	case len(s.rids) > maxLayers:
		return codeTooMany, "too many simulcast layers"
	case !s.decodable:
		return codeUnsupported, "none of the codecs is known here"
	}
	return "", ""
}

// keep makes pion leave a section alone that the client doesn't send in now:
// inactive would end its transceiver for good.
func (u *publisher) keep(d *description, s *mediaSection) {
	direction := inactive
	if u.pc != nil && slices.ContainsFunc(u.pc.GetTransceivers(), func(t *webrtc.RTPTransceiver) bool { return t.Mid() == s.mid }) {
		direction = recvonly
	}
	d.direct(s, direction)
}
