// Package recognizer asks a model for the words in an utterance, behind an OpenAI-compatible endpoint: a hosted service, or the server of
// whisper.cpp, vLLM or speaches.
package recognizer

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/sashabaranov/go-openai"
	"golang.org/x/text/language"

	"showfloor/internal/outflow/ai"
	"showfloor/internal/rooms/speech"
)

const (
	// timeout is the time limit of one answer, for at most 20 s of speech.
	timeout = time.Minute
	// maxText is the maximum number of characters of a line.
	maxText = 1000
	// Models of the Whisper family invent words for noise. By their own rule, a segment has no speech if that is more probable than
	// noSpeech and its words are less probable than lowProbability (as a logarithm). One that is compressed more than repetitive repeats
	// itself.
	noSpeech       = 0.6
	lowProbability = -1.0
	repetitive     = 2.4
)

// Client asks one model. It is safe for concurrent use.
type Client struct {
	endpoint *ai.Endpoint
	model    string
	// plain: the model knows no verbose answers, so that there are no probabilities.
	plain atomic.Bool
}

// New makes a client of the endpoint, for example https://api.openai.com/v1. The key may be empty.
func New(url, key, model string) *Client {
	return &Client{endpoint: ai.New(url, key, timeout), model: model}
}

var _ speech.Recognizer = (*Client)(nil)

// Recognize implements speech.Recognizer.
func (c *Client) Recognize(ctx context.Context, wave []byte) (speech.Words, error) {
	verbose := !c.plain.Load()
	resp, err := c.ask(ctx, wave, verbose)
	if verbose && ai.Status(err) == http.StatusBadRequest {
		if resp, err = c.ask(ctx, wave, false); err == nil {
			c.plain.Store(true)
		}
	}
	if err != nil {
		return speech.Words{}, c.endpoint.Explain(err)
	}
	return words(resp), nil
}

func (c *Client) ask(ctx context.Context, wave []byte, verbose bool) (openai.AudioResponse, error) {
	format := openai.AudioResponseFormatJSON
	if verbose {
		format = openai.AudioResponseFormatVerboseJSON
	}
	return c.endpoint.CreateTranscription(ctx, openai.AudioRequest{ //nolint:wrapcheck // Recognize explains it
		Model: c.model, FilePath: "speech.wav", Reader: bytes.NewReader(wave), Format: format,
	})
}

// words reads an answer. Segments without speech are left out.
func words(resp openai.AudioResponse) speech.Words {
	text := resp.Text
	if len(resp.Segments) > 0 {
		var b strings.Builder
		for _, s := range resp.Segments {
			if s.NoSpeechProb > noSpeech && s.AvgLogprob < lowProbability || s.CompressionRatio > repetitive {
				continue
			}
			b.WriteString(s.Text)
		}
		text = b.String()
	}
	space := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	out := speech.Words{Text: ai.Clean(strings.Join(strings.FieldsFunc(text, space), " "), maxText)}
	if tag, err := language.Parse(resp.Language); err == nil {
		name := tag.String()
		out.Language = &name
	}
	return out
}
