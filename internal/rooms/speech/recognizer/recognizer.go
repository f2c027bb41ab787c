// Package recognizer asks a model for the words in an utterance, behind an endpoint with OpenAI's /audio/transcriptions: a hosted service,
// or the server of whisper.cpp, vLLM or speaches.
package recognizer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"showfloor/internal/outflow/ai"
	"showfloor/internal/rooms/speech"
)

const (
	// timeout is the time limit of one answer, for at most 20 s of speech.
	timeout = time.Minute
	// slowPause is the pause after an answer that took longer: the endpoint has too much to do.
	slowPause = 20 * time.Second
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
	endpoint        *ai.Endpoint
	model, language string
	// plain: the model knows no verbose answers, so that there are no probabilities.
	plain atomic.Bool
	// sound matches texts in brackets, with which models name what is no speech, such as [BLANK_AUDIO] and (laughs).
	sound *regexp.Regexp
}

// New makes a client of the endpoint, for example https://api.openai.com/v1. The key may be empty. language is the code of the language
// that is spoken, such as de; empty if the model is to find it out.
func New(url, key, model, language string) *Client {
	sound := regexp.MustCompile(`\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|[♪♫🎵🎶]`)
	return &Client{endpoint: ai.New(url, key, timeout), model: model, language: language, sound: sound}
}

var _ speech.Recognizer = (*Client)(nil)

// Recognize implements speech.Recognizer.
func (c *Client) Recognize(ctx context.Context, wave []byte) (speech.Words, error) {
	verbose := !c.plain.Load()
	text, err := c.ask(ctx, wave, verbose)
	if status := ai.Status(err); verbose && (status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) {
		if text, err = c.ask(ctx, wave, false); err == nil {
			c.plain.Store(true)
		}
	}
	if os.IsTimeout(err) && ctx.Err() == nil {
		return speech.Words{}, ai.RetryError{After: slowPause}
	}
	if err != nil {
		return speech.Words{}, c.endpoint.Explain(err)
	}
	return c.words(text)
}

func (c *Client) ask(ctx context.Context, wave []byte, verbose bool) ([]byte, error) {
	fields := [][2]string{{"model", c.model}, {"response_format", "json"}}
	if verbose {
		fields[1][1] = "verbose_json"
	}
	if c.language != "" {
		fields = append(fields, [2]string{"language", c.language})
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	errs := make([]error, 0, len(fields)+2)
	for _, f := range fields {
		errs = append(errs, form.WriteField(f[0], f[1]))
	}
	file, err := form.CreateFormFile("file", "speech.wav")
	if err == nil {
		_, err = file.Write(wave)
	}
	if err := errors.Join(append(errs, err, form.Close())...); err != nil {
		return nil, fmt.Errorf("write a form: %w", err)
	}
	return c.endpoint.Post(ctx, "/audio/transcriptions", form.FormDataContentType(), &body) //nolint:wrapcheck // Recognize explains it
}

// answer has those fields of an answer that are read. Servers differ in the types of the others. Numbers are null for unknown.
type answer struct {
	Text     string `json:"text"`
	Language string `json:"language"`
	Segments []struct {
		Text             string   `json:"text"`
		NoSpeechProb     *float64 `json:"no_speech_prob"`
		AvgLogprob       *float64 `json:"avg_logprob"`
		CompressionRatio *float64 `json:"compression_ratio"`
	} `json:"segments"`
}

// words reads an answer. Segments without speech are left out, and sounds that are no words.
func (c *Client) words(text []byte) (speech.Words, error) {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return speech.Words{}, errors.New("the endpoint's answer is not that of a model for speech: " + ai.Clean(string(text), 100))
	}
	said, kept := a.Text, make([]string, 0, len(a.Segments))
	for _, s := range a.Segments {
		none := s.NoSpeechProb != nil && s.AvgLogprob != nil && *s.NoSpeechProb > noSpeech && *s.AvgLogprob < lowProbability
		if !none && (s.CompressionRatio == nil || *s.CompressionRatio <= repetitive) {
			kept = append(kept, s.Text)
		}
	}
	if len(kept) < len(a.Segments) {
		said = strings.Join(kept, " ")
	}
	said = c.sound.ReplaceAllString(said, " ")
	if !strings.ContainsFunc(said, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return speech.Words{}, nil
	}
	space := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	out := speech.Words{Text: ai.Clean(strings.Join(strings.FieldsFunc(said, space), " "), maxText)}
	if tag := tagOf(a.Language); tag != "" {
		out.Language = &tag
	} else if c.language != "" {
		out.Language = &c.language
	}
	return out, nil
}
