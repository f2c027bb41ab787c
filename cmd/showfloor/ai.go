package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strconv"

	"golang.org/x/text/language"

	"showfloor/internal/media/utterance"
	"showfloor/internal/rooms/speech/recognizer"
	"showfloor/internal/rooms/summary/model"
)

// AISettings are the settings of the models that recognize speech and write summaries.
type AISettings struct {
	AIURL          string `env:"AI_URL"`
	AIKey          string `env:"AI_KEY"`
	AISummaryModel string `env:"AI_SUMMARY_MODEL"`

	AITranscribeModel string `env:"AI_TRANSCRIBE_MODEL"`
	AITranscribeURL   string `env:"AI_TRANSCRIBE_URL"`
	AITranscribeKey   string `env:"AI_TRANSCRIBE_KEY"`
	AITranscribeCalls string `env:"AI_TRANSCRIBE_CALLS" envDefault:"8"`
	// AITranscribeLanguage is a code such as de; empty if the model is to find the language out.
	AITranscribeLanguage string `env:"AI_TRANSCRIBE_LANGUAGE"`
	// transcribeCalls is AITranscribeCalls as a number.
	transcribeCalls int
}

// maxTranscribeCalls bounds AI_TRANSCRIBE_CALLS.
const maxTranscribeCalls = 1000

// checkAI checks them. The endpoints may be on this machine or in a private network: they are the operator's.
func (c *config) checkAI() (err error) {
	c.transcribeCalls, err = strconv.Atoi(c.AITranscribeCalls)
	if err != nil || c.transcribeCalls < 1 || c.transcribeCalls > maxTranscribeCalls {
		return fmt.Errorf("AI_TRANSCRIBE_CALLS: %q is not a number from 1 to %d", c.AITranscribeCalls, maxTranscribeCalls)
	}
	if code := c.AITranscribeLanguage; code != "" {
		if base, err := language.ParseBase(code); err != nil || base.String() != code {
			return fmt.Errorf("AI_TRANSCRIBE_LANGUAGE: %q is not the code of a language, such as de", code)
		}
	}
	for _, s := range []struct{ name, value string }{{"AI_URL", c.AIURL}, {"AI_TRANSCRIBE_URL", c.AITranscribeURL}} {
		if s.value != "" && !isEndpoint(s.value) {
			return fmt.Errorf("%s is not an http or https address such as https://api.openai.com/v1, without a password and a query", s.name)
		}
	}
	return c.checkModels()
}

// checkModels checks that each endpoint has a model, and each model an endpoint.
func (c *config) checkModels() error {
	switch {
	case c.AIURL == "" && (c.AIKey != "" || c.AISummaryModel != ""):
		return errors.New("AI_URL is missing: AI_KEY and AI_SUMMARY_MODEL are for the endpoint that it names")
	case c.AIURL != "" && c.AISummaryModel == "" && c.AITranscribeModel == "":
		return fmt.Errorf("AI_SUMMARY_MODEL and AI_TRANSCRIBE_MODEL are missing: "+
			"name the model of %s that writes summaries, that for speech, or both", c.AIURL)
	case c.AITranscribeModel != "" && c.AIURL == "" && c.AITranscribeURL == "":
		return errors.New("AI_URL is missing: AI_TRANSCRIBE_MODEL is a model of its endpoint, or of that of AI_TRANSCRIBE_URL")
	case c.AITranscribeURL != "" && c.AITranscribeModel == "":
		return fmt.Errorf("AI_TRANSCRIBE_MODEL is missing: name the model of %s for speech", c.AITranscribeURL)
	case c.AITranscribeKey != "" && c.AITranscribeURL == "":
		return errors.New("AI_TRANSCRIBE_URL is missing: AI_TRANSCRIBE_KEY is for the endpoint that it names")
	}
	return nil
}

func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == ""
}

// summaryModel is the language model; nil if none is set.
func (c *config) summaryModel() *model.Client {
	if c.AISummaryModel == "" {
		return nil
	}
	return model.New(c.AIURL, c.AIKey, c.AISummaryModel)
}

// speechModel is the model for speech; nil if none is set. AI_KEY is not sent to AI_TRANSCRIBE_URL.
func (c *config) speechModel() *recognizer.Client {
	switch {
	case c.AITranscribeModel == "":
		return nil
	case c.AITranscribeURL != "":
		return recognizer.New(c.AITranscribeURL, c.AITranscribeKey, c.AITranscribeModel, c.AITranscribeLanguage)
	}
	return recognizer.New(c.AIURL, c.AIKey, c.AITranscribeModel, c.AITranscribeLanguage)
}

// summaryEngine says what writes summaries, for the banner.
func (c *config) summaryEngine() string {
	if c.AISummaryModel == "" {
		return "built in, quotes of the transcript and the chat"
	}
	return fmt.Sprintf("model %s at AI_URL", c.AISummaryModel)
}

// speechEngine says what recognizes speech, for the banner.
func (c *config) speechEngine() string {
	switch {
	case c.AITranscribeModel == "":
		return "not recognized: transcripts have captions of clients only; AI_TRANSCRIBE_MODEL names a model"
	case c.AITranscribeURL != "":
		return fmt.Sprintf("model %s at AI_TRANSCRIBE_URL", c.AITranscribeModel)
	}
	return fmt.Sprintf("model %s at AI_URL", c.AITranscribeModel)
}

// openListener begins to cut the speech of rooms, if there is a model for it.
func (s *server) openListener() error {
	if !s.areas.Speech.Works() {
		return nil
	}
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		return errors.New("AI_TRANSCRIBE_MODEL needs ffmpeg, which is not installed: run `make setup`, or remove the setting")
	}
	s.listener = utterance.New(utterance.Config{
		Keep: s.areas.Speech.KeepUtterance, Dropped: s.areas.Speech.Drop, Now: s.clock.Now, Log: s.log,
	})
	s.onStop("speech", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, shutdownTime/10)
		defer cancel()
		s.listener.Close(ctx)
		return nil
	})
	return nil
}
