package summary

import (
	"context"
	"slices"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/rooms/session"
	"showfloor/internal/rooms/summary/extractive"
	"showfloor/internal/rooms/transcript"
)

const (
	// maxMessages is how many messages of the chat are a part of the conversation: the first ones.
	maxMessages = 5000
	// pageMessages is how many of them are read at a time.
	pageMessages = 500
	// maxBytes is the maximum size of a conversation; the rest is left out. An hour of talk has 60 kB.
	maxBytes = 30 * chunkBytes
	// fromChat is the source of messages, beside those of lines.
	fromChat = "chat"
)

// conversation holds the transcript and the chat of a session, in the order of time.
type conversation struct {
	lines []extractive.Line
	// spoken and written are how many of them are of the transcript and of the chat.
	spoken, written int
	// from are their sources.
	from map[string]bool
}

// sources lists them.
func (c conversation) sources() []string {
	list := []string{}
	for _, source := range []string{transcript.FromSpeech, transcript.FromCaption, fromChat} {
		if c.from[source] {
			list = append(list, source)
		}
	}
	return list
}

// read reads the conversation of a session.
func (s *Service) read(ctx context.Context, row db.Session) (conversation, error) {
	type entry struct {
		at     time.Time
		source string
		extractive.Line
	}
	var all []entry
	spoken, err := s.config.Transcripts.Lines(ctx, row)
	if err != nil {
		return conversation{}, err
	}
	for _, l := range spoken {
		all = append(all, entry{l.StartedAt, l.Source, extractive.Line{Speaker: l.Speaker, Text: l.Body}})
	}
	written, err := s.messages(ctx, row)
	if err != nil {
		return conversation{}, err
	}
	for _, m := range written {
		if m.Body != nil {
			all = append(all, entry{m.CreatedAt, fromChat, extractive.Line{Speaker: m.AuthorName, Text: *m.Body}})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	c := conversation{spoken: len(spoken), written: len(written), from: map[string]bool{}}
	size := 0
	for _, u := range all {
		if size += len(u.Speaker) + len(u.Text); size > maxBytes {
			break
		}
		c.lines = append(c.lines, u.Line)
		c.from[u.source] = true
	}
	return c, nil
}

// messages reads the messages of the session's chat.
func (s *Service) messages(ctx context.Context, row db.Session) (all []db.ChannelMessage, err error) {
	var after chat.Place
	until := s.config.Now()
	for len(all) < maxMessages {
		page, err := s.config.Chat.ListKeptMessages(ctx, row.TenantID, row.ID, session.Beginning(row), until, after, pageMessages)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < pageMessages {
			break
		}
		after = chat.Place{MessageID: page[len(page)-1].ID}
	}
	return all, nil
}

// chunks returns the conversation as text, a line for each utterance, in parts of at most maxBytes. A longer line is cut.
func (c conversation) chunks(maxBytes int) (list []string) {
	var text strings.Builder
	for _, l := range c.lines {
		line := strings.Join(strings.Fields(l.Speaker+": "+l.Text), " ") + "\n"
		line = strings.ToValidUTF8(line[:min(len(line), maxBytes)], "")
		if text.Len() > 0 && text.Len()+len(line) > maxBytes {
			list = append(list, text.String())
			text.Reset()
		}
		text.WriteString(line)
	}
	if text.Len() > 0 {
		list = append(list, text.String())
	}
	return list
}
