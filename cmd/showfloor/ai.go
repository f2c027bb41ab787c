package main

import (
	"errors"
	"fmt"
	"net/url"

	"showfloor/internal/rooms/summary/model"
)

// AISettings are the settings of the language model that writes summaries.
type AISettings struct {
	AIURL          string `env:"AI_URL"`
	AIKey          string `env:"AI_KEY"`
	AISummaryModel string `env:"AI_SUMMARY_MODEL"`
}

// checkAI checks them. AI_URL may be on this machine or in a private network: it is the operator's.
func (c *config) checkAI() error {
	if c.AIURL == "" {
		if c.AIKey != "" || c.AISummaryModel != "" {
			return errors.New("AI_URL is missing: AI_KEY and AI_SUMMARY_MODEL are for the endpoint that it names")
		}
		return nil
	}
	u, err := url.Parse(c.AIURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return errors.New("AI_URL is not an http or https address such as https://api.openai.com/v1, without a password and a query")
	}
	if c.AISummaryModel == "" {
		return fmt.Errorf("AI_SUMMARY_MODEL is missing: name the model of %s that writes summaries", c.AIURL)
	}
	return nil
}

// summaryModel is the language model; nil if none is set.
func (c *config) summaryModel() *model.Client {
	if c.AIURL == "" {
		return nil
	}
	return model.New(c.AIURL, c.AIKey, c.AISummaryModel)
}

// summaryEngine says what writes summaries, for the banner.
func (c *config) summaryEngine() string {
	if c.AIURL == "" {
		return "built in, quotes of the transcript and the chat"
	}
	return fmt.Sprintf("model %s at AI_URL", c.AISummaryModel)
}
