package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"showfloor/handlers"
	"showfloor/internal/ratelimit"
)

// LimitSettings are the settings of rate limits. They are a part of config; the
// type is exported because the library that parses config ignores unexported
// embedded structs.
type LimitSettings struct {
	Caller   string `env:"RATE_LIMIT_CALLER"   envDefault:"100/s:200"`
	Tenant   string `env:"RATE_LIMIT_TENANT"   envDefault:"500/s:1000"`
	Audience string `env:"RATE_LIMIT_AUDIENCE" envDefault:"1000/s:10000"`
	Public   string `env:"RATE_LIMIT_PUBLIC"   envDefault:"10/s:20"`
	Auth     string `env:"RATE_LIMIT_AUTH"     envDefault:"10/min"`
	Email    string `env:"RATE_LIMIT_EMAIL"    envDefault:"5/min"`
	Failures string `env:"RATE_LIMIT_FAILURES" envDefault:"100/h"`
	Mails    string `env:"RATE_LIMIT_MAILS"    envDefault:"5/h"`
	Capture  string `env:"RATE_LIMIT_CAPTURE"  envDefault:"50/s:200"`
	Misses   string `env:"RATE_LIMIT_MISSES"   envDefault:"1/s:20"`
	Guesses  string `env:"RATE_LIMIT_GUESSES"  envDefault:"1/s:20"`

	TrustedProxies string `env:"TRUSTED_PROXIES"`

	// limits and proxies are the parsed settings above.
	limits  handlers.Limits
	proxies []netip.Prefix
}

// readLimits parses the rates and the proxies.
func (s *LimitSettings) readLimits() error {
	for _, setting := range []struct {
		name, text string
		rate       *ratelimit.Rate
	}{
		{"CALLER", s.Caller, &s.limits.Caller}, {"TENANT", s.Tenant, &s.limits.Tenant},
		{"AUDIENCE", s.Audience, &s.limits.Audience}, {"PUBLIC", s.Public, &s.limits.Public}, {"AUTH", s.Auth, &s.limits.Auth},
		{"EMAIL", s.Email, &s.limits.Email}, {"FAILURES", s.Failures, &s.limits.Failures},
		{"MAILS", s.Mails, &s.limits.Mails}, {"CAPTURE", s.Capture, &s.limits.Capture},
		{"MISSES", s.Misses, &s.limits.Misses}, {"GUESSES", s.Guesses, &s.limits.Guesses},
	} {
		var err error
		if *setting.rate, err = ratelimit.ParseRate(setting.text); err != nil {
			return fmt.Errorf("RATE_LIMIT_%s: %w", setting.name, err)
		}
	}
	var err error
	s.proxies, err = readProxies(s.TrustedProxies)
	return err
}

// readProxies parses TRUSTED_PROXIES: addresses and networks, separated by commas.
func readProxies(text string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		network, err := netip.ParsePrefix(part)
		if err != nil {
			at, err := netip.ParseAddr(part)
			if err != nil {
				return nil, fmt.Errorf("TRUSTED_PROXIES: %q is no address or network; write 10.0.0.0/8,2001:db8::1 or the like", part)
			}
			network = netip.PrefixFrom(at, at.BitLen())
		}
		list = append(list, network)
	}
	return list, nil
}

// openLimiter creates the limiter, which counts requests in Redis or, without
// REDIS_URL, in memory.
func (s *server) openLimiter() error {
	var shared *ratelimit.Redis
	if s.config.RedisURL != "" {
		var err error
		if shared, err = ratelimit.NewRedis(s.config.RedisURL, ratelimit.Timeout); err != nil {
			return fmt.Errorf("REDIS_URL: %w", err)
		}
		s.onStop("rate limits", func(context.Context) error { return shared.Close() })
	}
	l := ratelimit.New(ratelimit.NewMemory(time.Now), shared, s.log)
	_ = l.Check(context.Background()) // so that the banner shows whether Redis answers
	s.config.limits.Limiter = l
	s.engines = append(s.engines, engineNote{limits, l.Engine()})
	return nil
}
