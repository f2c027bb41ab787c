package main

import (
	"errors"
	"net/url"
	"regexp"
	"strings"

	"showfloor/internal/commerce/processor"
)

// ProcessorSettings are the settings of the payment processor. They are a part of
// config; the type is exported because the library that parses config ignores
// unexported embedded structs.
type ProcessorSettings struct {
	ProcessorKey           string `env:"PROCESSOR_KEY"`
	ProcessorURL           string `env:"PROCESSOR_URL"            envDefault:"https://api.stripe.com"`
	ProcessorWebhookSecret string `env:"PROCESSOR_WEBHOOK_SECRET"`
	ProcessorConnectSecret string `env:"PROCESSOR_CONNECT_SECRET"`
}

// sandboxKey is the prefix of the sandbox's keys.
const sandboxKey = "sk_sandbox_"

// Formats of the processor's keys and secrets. The publishable key, pk_, is the
// one that operators set by mistake most often.
var (
	processorKey  = regexp.MustCompile(`^(sk|rk)_[A-Za-z0-9_-]+$`)
	signingSecret = regexp.MustCompile(`^[!-~]+$`)
)

// readProcessor checks the settings. Its errors contain none of them.
func (s *ProcessorSettings) readProcessor(env string) error {
	if s.ProcessorKey != "" && !processorKey.MatchString(s.ProcessorKey) {
		return errors.New("PROCESSOR_KEY: must be a secret key, which begins with sk_ or rk_")
	}
	if env == production && strings.HasPrefix(s.ProcessorKey, sandboxKey) {
		return errors.New("PROCESSOR_KEY: a key of the sandbox doesn't work in production, where money moves")
	}
	for name, secret := range map[string]string{
		"PROCESSOR_WEBHOOK_SECRET": s.ProcessorWebhookSecret, "PROCESSOR_CONNECT_SECRET": s.ProcessorConnectSecret,
	} {
		if secret != "" && !signingSecret.MatchString(secret) {
			return errors.New(name + ": must be a signing secret without spaces, such as whsec_…")
		}
		if secret != "" && s.ProcessorKey == "" {
			return errors.New(name + ": has no effect without PROCESSOR_KEY, which is not set; set both or neither")
		}
	}
	if err := link("PROCESSOR_URL", s.ProcessorURL, "http", "https"); err != nil {
		return err
	}
	if u, err := url.Parse(s.ProcessorURL); err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("PROCESSOR_URL: must have no user, query or fragment")
	}
	s.ProcessorURL = strings.TrimRight(s.ProcessorURL, "/")
	return nil
}

// openProcessor creates the client of the payment processor. Without a key the
// client answers processor_unavailable to every call.
func (s *server) openProcessor() {
	c := s.config.ProcessorSettings
	s.processor = processor.New(processor.Config{
		Key: c.ProcessorKey, URL: c.ProcessorURL, Secret: c.ProcessorWebhookSecret, ConnectSecret: c.ProcessorConnectSecret,
	})
	engine := c.processorEngine()
	s.engines = append(s.engines, engineNote{payments, engine})
	if !s.processor.Configured() {
		s.log.Warn("PROCESSOR_KEY is not set: checkouts, refunds and sellers' onboarding are refused with processor_unavailable")
		return
	}
	for name, secret := range map[string]string{
		"PROCESSOR_WEBHOOK_SECRET": c.ProcessorWebhookSecret, "PROCESSOR_CONNECT_SECRET": c.ProcessorConnectSecret,
	} {
		if secret == "" {
			s.log.Warn("without this secret the processor's reports are refused: results of payments arrive late, by queries",
				"setting", name)
		}
	}
	if s.config.AppEnv == production && strings.Contains(c.ProcessorKey, "_test_") {
		s.log.Warn("PROCESSOR_KEY is a test key: no money moves")
	}
}

// processorEngine returns the name of the processor for the banner.
func (s *ProcessorSettings) processorEngine() string {
	if s.ProcessorKey == "" {
		return "none, PROCESSOR_KEY is not set"
	}
	host := s.ProcessorURL
	if u, err := url.Parse(s.ProcessorURL); err == nil {
		host = u.Host
	}
	if strings.HasPrefix(s.ProcessorKey, sandboxKey) {
		return "the sandbox, no real money"
	}
	if strings.Contains(s.ProcessorKey, "_live_") {
		return host
	}
	return host + ", with a test key"
}
