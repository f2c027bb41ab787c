package sfu

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// Types of messages; those of clients first.
const (
	typeOffer       = "offer"
	typeAnswer      = "answer"
	typeCandidate   = "candidate"
	typeRestart     = "restart"
	typeMute        = "mute"
	typeView        = "view"
	typeData        = "data"
	typeLeave       = "leave"
	typePing        = "ping"
	typeWelcome     = "welcome"
	typeParticipant = "participant"
	typeLeft        = "left"
	typeAudience    = "audience"
	typeTrack       = "track"
	typeUntrack     = "untrack"
	typeLayers      = "layers"
	typeSpeakers    = "speakers"
	typeSession     = "session"
	typeError       = "error"
	typePong        = "pong"
	typeBye         = "bye"
	typeFallback    = "fallback"
)

const (
	maxTopic   = 64       // bytes
	maxPayload = 16 << 10 // bytes
	maxTo      = 100      // recipients
	maxViews   = 256      // tracks in a view message
	maxPixels  = 1 << 14  // for each side of a view
)

// message is a message of a client. Type decides which fields it has.
type message struct {
	Type string
	// ID is the id of an offer or answer.
	ID int64
	// Track is the id of the track to mute.
	Track   string
	SDP     string
	Sources []section
	PC      string
	Muted   bool
	Views   []view
	To      []string
	Topic   string
	Payload string
	Time    json.RawMessage
}

// re returns the value of re in an error about the message.
func (m *message) re() any {
	switch m.Type {
	case typeOffer, typeAnswer:
		return m.ID
	case typeMute:
		return m.Track
	}
	return nil
}

// section names the source that a media section of a publish offer carries.
type section struct {
	MID    string `json:"mid"`
	Source string `json:"source"`
}

// view is the size at which a client shows a track, in device pixels.
type view struct {
	ID            string
	Width, Height int
	Hidden        bool
}

// pixels rounds up, so that a shown track has at least one pixel.
func pixels(v float64) int { return int(math.Ceil(min(v, maxPixels))) }

// envelope has the fields of all messages of clients.
type envelope struct {
	Type      string          `json:"type"`
	ID        json.RawMessage `json:"id"`
	SDP       *string         `json:"sdp"`
	Tracks    json.RawMessage `json:"tracks"`
	PC        string          `json:"pc"`
	Candidate json.RawMessage `json:"candidate"`
	Muted     *bool           `json:"muted"`
	To        []string        `json:"to"`
	Topic     *string         `json:"topic"`
	Payload   *string         `json:"payload"`
	Time      json.RawMessage `json:"time"`
}

// parseMessage parses a message of a client. Its error text is sent to the client.
func parseMessage(data []byte) (message, error) {
	if !utf8.Valid(data) {
		return message{}, errors.New("the message is not UTF-8")
	}
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return message{}, errors.New("the message is not an object of the protocol")
	}
	m := message{Type: e.Type}
	switch e.Type {
	case typeOffer:
		return m, errors.Join(m.readDescription(e), m.readSections(e))
	case typeAnswer:
		return m, m.readDescription(e)
	case typeCandidate, typeRestart:
		return m, m.readConnection(e)
	case typeMute:
		return m, m.readMute(e)
	case typeView:
		return m, m.readViews(e)
	case typeData:
		return m, m.readData(e)
	case typePing:
		return m, m.readTime(e)
	case typeLeave:
		return m, nil
	}
	return m, errors.New("unknown type of message")
}

func (m *message) readDescription(e envelope) error {
	id, err := strconv.ParseInt(string(e.ID), 10, 64)
	if err != nil || id < 0 || id > 1<<53 {
		return errors.New("id must be a whole number")
	}
	if e.SDP == nil || *e.SDP == "" {
		return errors.New("sdp is missing")
	}
	m.ID, m.SDP = id, *e.SDP
	return nil
}

func (m *message) readSections(e envelope) error {
	if len(e.Tracks) == 0 {
		return errors.New("tracks is missing")
	}
	if json.Unmarshal(e.Tracks, &m.Sources) != nil {
		return errors.New("tracks must be a list of {mid, source}")
	}
	return nil
}

func (m *message) readConnection(e envelope) error {
	if e.PC != pcPublish && e.PC != pcSubscribe {
		return errors.New("pc must be publish or subscribe")
	}
	m.PC = e.PC
	return nil
}

func (m *message) readMute(e envelope) error {
	if json.Unmarshal(e.ID, &m.Track) != nil || m.Track == "" || e.Muted == nil {
		return errors.New("mute needs the id of a track, and muted")
	}
	m.Muted = *e.Muted
	return nil
}

func (m *message) readViews(e envelope) error {
	var list []struct {
		ID            string
		Width, Height float64
		Hidden        bool
	}
	if json.Unmarshal(e.Tracks, &list) != nil || len(list) > maxViews {
		return fmt.Errorf("tracks must be a list of at most %d of {id, width, height, hidden}", maxViews)
	}
	for _, v := range list {
		if v.Width < 0 || v.Height < 0 {
			return errors.New("width and height must not be negative")
		}
		m.Views = append(m.Views, view{v.ID, pixels(v.Width), pixels(v.Height), v.Hidden})
	}
	return nil
}

func (m *message) readData(e envelope) error {
	if e.Topic == nil || e.Payload == nil {
		return errors.New("data needs topic and payload")
	}
	if len(*e.Topic) > maxTopic || len(*e.Payload) > maxPayload || len(e.To) > maxTo {
		return fmt.Errorf("topic is at most %d bytes, payload %d, to %d users", maxTopic, maxPayload, maxTo)
	}
	m.Topic, m.Payload, m.To = *e.Topic, *e.Payload, e.To
	return nil
}

func (m *message) readTime(e envelope) error {
	if n, err := strconv.ParseFloat(string(e.Time), 64); err != nil || n != n || len(e.Time) > 32 {
		return errors.New("time must be a number")
	}
	m.Time = e.Time
	return nil
}

// Messages to clients. The outbox adds seq.
type (
	wireParticipant struct {
		UserID      string `json:"userId"`
		DisplayName string `json:"displayName"`
		Role        string `json:"role"`
		Perms       Perms  `json:"perms"`
		State       string `json:"state"`
		Muted       bool   `json:"muted"`
		HandRaised  bool   `json:"handRaised"`
	}
	wireLayer struct {
		Width  int `json:"width"`
		Height int `json:"height"`
	}
	wireTrack struct {
		ID     string      `json:"id"`
		UserID string      `json:"userId"`
		Source string      `json:"source"`
		Kind   string      `json:"kind"`
		Muted  bool        `json:"muted"`
		Layers []wireLayer `json:"layers"`
	}
	iceServer struct {
		URLs       []string `json:"urls"`
		Username   string   `json:"username,omitempty"`
		Credential string   `json:"credential,omitempty"`
	}
	welcomeMessage struct {
		Type         string            `json:"type"`
		Room         string            `json:"room"`
		Kind         string            `json:"kind"`
		Self         wireParticipant   `json:"self"`
		Resume       string            `json:"resume"`
		Resumed      bool              `json:"resumed"`
		ICEServers   []iceServer       `json:"iceServers"`
		Participants []wireParticipant `json:"participants"`
		Tracks       []wireTrack       `json:"tracks"`
		Session      map[string]any    `json:"session,omitempty"`
		Audience     int               `json:"audience"`
	}
	participantMessage struct {
		Type        string          `json:"type"`
		Participant wireParticipant `json:"participant"`
	}
	leftMessage struct {
		Type   string `json:"type"`
		UserID string `json:"userId"`
		Reason string `json:"reason"`
	}
	audienceMessage struct {
		Type  string `json:"type"`
		Count int    `json:"count"`
	}
	trackMessage struct {
		Type  string    `json:"type"`
		Track wireTrack `json:"track"`
	}
	untrackMessage struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	binding struct {
		MID string `json:"mid"`
		ID  string `json:"id"`
	}
	refusedSection struct {
		MID     string `json:"mid"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	answerMessage struct {
		Type    string           `json:"type"`
		ID      int64            `json:"id"`
		SDP     string           `json:"sdp"`
		Tracks  []binding        `json:"tracks"`
		Refused []refusedSection `json:"refused"`
	}
	offerMessage struct {
		Type   string    `json:"type"`
		ID     int64     `json:"id"`
		SDP    string    `json:"sdp"`
		Tracks []binding `json:"tracks"`
	}
	layersMessage struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		Active []bool `json:"active"`
	}
	speaker struct {
		UserID string  `json:"userId"`
		Level  float64 `json:"level"`
	}
	speakersMessage struct {
		Type     string    `json:"type"`
		Speakers []speaker `json:"speakers"`
	}
	dataMessage struct {
		Type    string `json:"type"`
		From    string `json:"from"`
		Topic   string `json:"topic"`
		Payload string `json:"payload"`
	}
	sessionMessage struct {
		Type    string         `json:"type"`
		Session map[string]any `json:"session"`
	}
	errorMessage struct {
		Type    string `json:"type"`
		Re      any    `json:"re,omitempty"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	wireFallback struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		URL     string `json:"url"`
	}
	fallbackMessage struct {
		Type     string        `json:"type"`
		Fallback *wireFallback `json:"fallback"`
	}
	pongMessage struct {
		Type string          `json:"type"`
		Time json.RawMessage `json:"time"`
	}
	byeMessage struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
		Retry   bool   `json:"retry"`
		SFUURL  string `json:"sfuUrl,omitempty"`
	}
)

func byeFor(r *ClientError) byeMessage {
	text := r.Message
	if text == "" {
		text = byeText(r.Code)
	}
	return byeMessage{Type: typeBye, Code: r.Code, Message: text, Retry: retryable(r.Code), SFUURL: r.SFUURL}
}

// encode serializes a message, to which the outbox adds seq. All recipients of the message share
// the result.
func encode(m any) []byte {
	data, err := json.Marshal(m)
	if err != nil {
		// All values but those of a session are ours and can be serialized.
		return []byte(`{"type":"error","code":"internal","message":"a message could not be written"}`)
	}
	return data
}
