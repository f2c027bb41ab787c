package sfu

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/pion/sdp/v3"
)

// Directions of a media section (RFC 8866, 6.7).
const (
	sendonly = "sendonly"
	recvonly = "recvonly"
	sendrecv = "sendrecv"
	inactive = "inactive"
)

// description is a client's session description, reduced to the parts that the server uses.
type description struct {
	sdp      *sdp.SessionDescription
	sections []*mediaSection
}

// mediaSection is one media section of a description.
type mediaSection struct {
	mid, kind string
	media     *sdp.MediaDescription
	// sends: the client wants to send media in this section.
	sends bool
	// rids are the ids of its simulcast layers, in their order.
	rids []string
	// decodable: the server knows at least one of its codecs.
	decodable bool
}

// readDescription filters and parses an offer or an answer of a client, within limits. Its error
// texts are sent to the client.
func readDescription(text string, l Limits) (*description, error) {
	text, err := filterDescription(text, l)
	if err != nil {
		return nil, err
	}
	d := &description{sdp: &sdp.SessionDescription{}}
	if err := d.sdp.UnmarshalString(text); err != nil {
		return nil, errors.New("sdp is not a session description")
	}
	mids := map[string]bool{}
	for _, media := range d.sdp.MediaDescriptions {
		s := &mediaSection{media: media, kind: media.MediaName.Media}
		s.mid, _ = media.Attribute("mid")
		if s.mid == "" || len(s.mid) > 32 || mids[s.mid] {
			return nil, errors.New("each media section needs its own mid")
		}
		mids[s.mid] = true
		d.sections = append(d.sections, s)
	}
	return d, nil
}

// readOffer parses a client's publish offer.
func readOffer(text string, l Limits) (*description, error) {
	d, err := readDescription(text, l)
	if err != nil {
		return nil, err
	}
	if len(d.sections) == 0 {
		return nil, errors.New("the description has no media section")
	}
	known := knownCodecs()
	for _, s := range d.sections {
		if s.kind != kindAudio && s.kind != kindVideo {
			return nil, errors.New("media sections are of audio or video; data goes over the socket")
		}
		_, bundled := s.media.Attribute("bundle-only")
		open := s.media.MediaName.Port.Value != 0 || bundled
		direction := directionOf(s.media)
		s.sends = open && (direction == sendonly || direction == sendrecv)
		if s.rids, err = simulcast(s.media); err != nil {
			return nil, err
		}
		s.decodable = decodable(s, known)
	}
	return d, nil
}

// decodable reports whether the server knows a codec of the section. A filtered section has only
// known codecs, or a single payload type.
func decodable(s *mediaSection, known map[string]bool) bool {
	var names, fmtp []string
	for _, a := range s.media.Attributes {
		_, value, _ := strings.Cut(a.Value, " ")
		switch a.Key {
		case "rtpmap":
			names = append(names, value)
		case "fmtp":
			fmtp = append(fmtp, value)
		}
	}
	return len(names) > 1 || len(names) == 1 && known[codecOf(s.kind, names[0], strings.Join(fmtp, ";"))]
}

// narrow leaves one codec in a section in which the client doesn't send: pion's work grows with the
// square of the number of codecs.
func (s *mediaSection) narrow() {
	if s.kind != kindVideo || len(s.media.MediaName.Formats) < 2 {
		return
	}
	first := s.media.MediaName.Formats[0]
	s.media.MediaName.Formats = s.media.MediaName.Formats[:1]
	s.media.Attributes = slices.DeleteFunc(s.media.Attributes, func(a sdp.Attribute) bool {
		pt, _, _ := strings.Cut(a.Value, " ")
		return (a.Key == "rtpmap" || a.Key == "fmtp" || a.Key == "rtcp-fb") && pt != first
	})
}

// passive reports whether the client insists on being the DTLS server.
func (d *description) passive() bool {
	setup, _ := d.sdp.Attribute("setup")
	return cmp.Or(d.attribute("setup"), setup) == "passive"
}

// fingerprint identifies the client's end of a connection, which has a certificate of its own
// (RFC 8122, 5); "" if the description has none. Like pion, it prefers the session's.
func (d *description) fingerprint() string {
	value, _ := d.sdp.Attribute("fingerprint")
	return cmp.Or(value, d.attribute("fingerprint"))
}

// attribute returns an attribute of the transport that all sections share: that of the first section
// that has it; "" for none. A rejected section has none.
func (d *description) attribute(key string) string {
	for _, s := range d.sections {
		if value, ok := s.media.Attribute(key); ok {
			return value
		}
	}
	return ""
}

// differs reports whether the description has another fingerprint than the given one. It is false if
// either is empty.
func (d *description) differs(fingerprint string) bool {
	return fingerprint != "" && d.fingerprint() != "" && d.fingerprint() != fingerprint
}

// directionOf returns the direction of a section, sendrecv when none is named.
func directionOf(m *sdp.MediaDescription) string {
	for _, a := range m.Attributes {
		switch a.Key {
		case sendonly, recvonly, inactive, sendrecv:
			return a.Key
		}
	}
	return sendrecv
}

// direct sets the direction of a section.
func (d *description) direct(s *mediaSection, direction string) {
	kept := s.media.Attributes[:0]
	for _, a := range s.media.Attributes {
		switch a.Key {
		case sendonly, recvonly, inactive, sendrecv:
		default:
			kept = append(kept, a)
		}
	}
	kept = append(kept, sdp.Attribute{Key: direction})
	s.media.Attributes = kept
}

// decline sets the refused sections of an answer to inactive. An answer that can't be parsed is
// returned unchanged.
func decline(answer string, refused []refusedSection) string {
	if len(refused) == 0 {
		return answer
	}
	d := &description{sdp: &sdp.SessionDescription{}}
	if d.sdp.UnmarshalString(answer) != nil {
		return answer
	}
	for _, media := range d.sdp.MediaDescriptions {
		mid, _ := media.Attribute("mid")
		for _, r := range refused {
			if r.MID == mid && media.MediaName.Port.Value != 0 {
				d.direct(&mediaSection{media: media}, inactive)
			}
		}
	}
	text, err := d.text()
	if err != nil {
		return answer
	}
	return text
}

// text serializes the description.
func (d *description) text() (string, error) {
	data, err := d.sdp.Marshal()
	return string(data), err
}

// simulcast returns the ids of the layers that a section sends, in their order.
func simulcast(m *sdp.MediaDescription) ([]string, error) {
	line, ok := m.Attribute("simulcast")
	if !ok {
		return nil, nil
	}
	fields := strings.Fields(line)
	for i, f := range fields {
		if f != "send" || i+1 >= len(fields) {
			continue
		}
		var rids []string
		for layer := range strings.SplitSeq(fields[i+1], ";") {
			rid, _, _ := strings.Cut(layer, ",") // the first of alternatives
			rid = strings.TrimPrefix(rid, "~")   // a layer that is paused now
			if rid == "" || len(rid) > 32 {
				return nil, errors.New("a simulcast layer has no name")
			}
			rids = append(rids, rid)
		}
		return rids, nil
	}
	return nil, nil
}
