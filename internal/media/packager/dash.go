package packager

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"time"
)

// The elements of a manifest (ISO/IEC 23009-1) that are used.
type (
	mpd struct {
		XMLName       xml.Name `xml:"urn:mpeg:dash:schema:mpd:2011 MPD"`
		Type          string   `xml:"type,attr"`
		Profiles      string   `xml:"profiles,attr"`
		Duration      string   `xml:"mediaPresentationDuration,attr"`
		MinBufferTime string   `xml:"minBufferTime,attr"`
		Period        period   `xml:"Period"`
	}
	period struct {
		ID    string          `xml:"id,attr"`
		Start string          `xml:"start,attr"`
		Sets  []adaptationSet `xml:"AdaptationSet"`
	}
	adaptationSet struct {
		ID          int    `xml:"id,attr"`
		ContentType string `xml:"contentType,attr"`
		MimeType    string `xml:"mimeType,attr"`
		Language    string `xml:"lang,attr,omitempty"`
		Aligned     bool   `xml:"subsegmentAlignment,attr,omitempty"`
		SAP         int    `xml:"subsegmentStartsWithSAP,attr,omitempty"`
		// Children are in the order of the schema.
		Label           string           `xml:"Label,omitempty"`
		Role            []descriptor     `xml:"Role"`
		Representations []representation `xml:"Representation"`
	}
	descriptor struct {
		Scheme string `xml:"schemeIdUri,attr"`
		Value  string `xml:"value,attr"`
	}
	representation struct {
		ID        string `xml:"id,attr"`
		Codecs    string `xml:"codecs,attr,omitempty"`
		Bandwidth int    `xml:"bandwidth,attr"`
		Width     int    `xml:"width,attr,omitempty"`
		Height    int    `xml:"height,attr,omitempty"`
		FrameRate string `xml:"frameRate,attr,omitempty"`
		Rate      int    `xml:"audioSamplingRate,attr,omitempty"`

		Channels    []descriptor `xml:"AudioChannelConfiguration"`
		BaseURL     string       `xml:"BaseURL"`
		SegmentBase *segmentBase `xml:"SegmentBase"`
	}
	segmentBase struct {
		IndexRange     string         `xml:"indexRange,attr"`
		Initialization initialization `xml:"Initialization"`
	}
	initialization struct {
		Range string `xml:"range,attr"`
	}
)

const (
	roles    = "urn:mpeg:dash:role:2011"
	channels = "urn:mpeg:dash:23003:3:audio_channel_configuration:2011"
)

// mpd renders manifest.mpd.
func (p *packaging) mpd() ([]byte, error) {
	longest := time.Second
	m := mpd{
		Type: "static", Profiles: "urn:mpeg:dash:profile:isoff-on-demand:2011", Duration: isoDuration(p.length()),
		Period: period{ID: "1", Start: "PT0S"},
	}
	add := func(s adaptationSet) {
		s.ID = len(m.Period.Sets) + 1
		m.Period.Sets = append(m.Period.Sets, s)
	}
	for i := range p.video {
		v := &p.video[i]
		for n := range v.segments {
			longest = max(longest, time.Duration(v.seconds(v.segments[n].lasts)*float64(time.Second)))
		}
		r := v.representation()
		r.Width, r.Height, r.FrameRate = v.width, v.height, frameRate(v.frameRate)
		// Players don't switch between codecs, so each has a set.
		if set := setOf(m.Period.Sets, v.codec); set != nil {
			set.Representations = append(set.Representations, r)
			continue
		}
		add(adaptationSet{ContentType: "video", MimeType: "video/mp4", Representations: []representation{r}})
	}
	for i := range m.Period.Sets {
		m.Period.Sets[i].SAP, m.Period.Sets[i].Aligned = 1, p.aligned(m.Period.Sets[i].Representations)
	}
	sound := adaptationSet{ContentType: "audio", MimeType: "audio/mp4", SAP: 1}
	for i := range p.audio {
		a := &p.audio[i]
		r := a.representation()
		r.Rate, r.Channels = a.rate, []descriptor{{channels, strconv.Itoa(a.voices)}}
		sound.Representations = append(sound.Representations, r)
	}
	if len(p.audio) > 0 {
		sound.Aligned = p.aligned(sound.Representations)
		add(sound)
	}
	for _, t := range p.Texts {
		role := "subtitle"
		if t.Captions {
			role = "caption"
		}
		bits := int(float64(len(t.Content)) * 8 / max(p.length().Seconds(), 1))
		add(adaptationSet{
			ContentType: "text", MimeType: "text/vtt", Language: t.Language, Role: []descriptor{{roles, role}}, Label: t.Name,
			Representations: []representation{{ID: textName(t), Bandwidth: max(bits, 1), BaseURL: textName(t) + textEnding}},
		})
	}
	m.MinBufferTime = isoDuration(min(longest, 2*p.Segment))
	content, err := xml.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the manifest of DASH: %w", err)
	}
	return append([]byte(xml.Header), append(content, '\n')...), nil
}

func (s *stored) representation() representation {
	return representation{
		ID: s.name, Codecs: s.codec, Bandwidth: max(s.peak, 1), BaseURL: s.name + trackEnding,
		SegmentBase: &segmentBase{
			IndexRange:     fmt.Sprintf("%d-%d", s.initSize, s.initSize+s.indexSize-1),
			Initialization: initialization{fmt.Sprintf("0-%d", s.initSize-1)},
		},
	}
}

// setOf returns the set of pictures with the same kind of codec; nil if there is none.
func setOf(sets []adaptationSet, codec string) *adaptationSet {
	for i := range sets {
		if sets[i].Representations[0].Codecs[:4] == codec[:4] {
			return &sets[i]
		}
	}
	return nil
}

// aligned reports whether the segments of tracks begin at the same times.
func (p *packaging) aligned(list []representation) bool {
	const tolerance = 0.001 // s
	var first *stored
	for _, r := range list {
		s := p.named(r.ID)
		if first == nil {
			first = s
		}
		if len(s.segments) != len(first.segments) {
			return false
		}
		for i := range s.segments {
			if math.Abs(s.seconds(s.segments[i].shown)-first.seconds(first.segments[i].shown)) > tolerance {
				return false
			}
		}
	}
	return true
}

// named returns the track of a representation.
func (p *packaging) named(name string) *stored {
	for _, list := range [][]stored{p.video, p.audio} {
		for i := range list {
			if list[i].name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// isoDuration formats a duration as in ISO 8601.
func isoDuration(d time.Duration) string {
	return "PT" + strconv.FormatFloat(d.Round(time.Millisecond).Seconds(), 'f', -1, 64) + "S"
}

// frameRate formats a rate: a whole number, or thousandths.
func frameRate(rate float64) string {
	if whole := math.Round(rate); math.Abs(rate-whole) < 0.02 && whole > 0 {
		return strconv.Itoa(int(whole))
	}
	return strconv.Itoa(int(math.Round(rate*1000))) + "/1000"
}
