package sfu

import (
	"slices"

	"github.com/pion/webrtc/v4"
)

// checkSections decides on each section, and ends publications that are no longer sent or permitted. A
// refused section is negotiated with pion all the same, and its packets are dropped. So nothing has
// to change in pion when the section is permitted later.
func (u *publisher) checkSections(d *description, sources []section, carriers map[string]string) []refusedSection {
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
		code, text := u.rejection(s, source)
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
	// A section that is missing in the offer doesn't send either.
	for mid := range u.sections {
		if !slices.ContainsFunc(d.sections, func(s *mediaSection) bool { return s.mid == mid }) {
			u.end(mid)
		}
	}
	return refused
}

// carriers returns the mid of the section that carries each source: the one that already does,
// otherwise the first one that may. A participant has one track of each source, so that it takes
// only one place in the audio mix and on the screens of others.
func (u *publisher) carriers(d *description, sources []section) map[string]string {
	named := bySection(sources)
	carriers := map[string]string{}
	for _, s := range d.sections {
		source := named[s.mid]
		if code, _ := u.rejection(s, source); !s.sends || code != "" {
			continue
		}
		pub := u.sections[s.mid]
		if _, taken := carriers[source]; !taken || pub != nil && pub.source == source {
			carriers[source] = s.mid
		}
	}
	return carriers
}

// begun counts the publications that begin with an offer. carriers holds the section of each
// source.
func (u *publisher) begun(carriers map[string]string) (n int) {
	for source, mid := range carriers {
		if pub := u.sections[mid]; pub == nil || pub.source != source {
			n++
		}
	}
	return n
}

// bySection returns the source of each section, by mid.
func bySection(sources []section) map[string]string {
	named := map[string]string{}
	for _, s := range sources {
		named[s.MID] = s.Source
	}
	return named
}

// rejection returns why a section is refused by itself; an empty code when it isn't.
func (u *publisher) rejection(s *mediaSection, source string) (code, text string) {
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

// keep prevents pion from ending the transceiver of a section in which the client doesn't send now:
// with inactive, pion would end it permanently.
func (u *publisher) keep(d *description, s *mediaSection) {
	direction := inactive
	if u.pc != nil && slices.ContainsFunc(u.pc.GetTransceivers(), func(t *webrtc.RTPTransceiver) bool { return t.Mid() == s.mid }) {
		direction = recvonly
	}
	d.direct(s, direction)
}
