package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"showfloor/internal/base/netaddr"
	"showfloor/internal/base/ratelimit"
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
}

// readLimits parses the rates and the proxies.
func (c *config) readLimits() error {
	limits, s := &c.http.Limits, c.LimitSettings
	for _, setting := range []struct {
		name, text string
		rate       *ratelimit.Rate
	}{
		{"CALLER", s.Caller, &limits.Caller}, {"TENANT", s.Tenant, &limits.Tenant},
		{"AUDIENCE", s.Audience, &limits.Audience}, {"PUBLIC", s.Public, &limits.Public}, {"AUTH", s.Auth, &limits.Auth},
		{"EMAIL", s.Email, &limits.Email}, {"FAILURES", s.Failures, &limits.Failures},
		{"MAILS", s.Mails, &limits.Mails}, {"CAPTURE", s.Capture, &limits.Capture},
		{"MISSES", s.Misses, &limits.Misses}, {"GUESSES", s.Guesses, &limits.Guesses},
	} {
		var err error
		if *setting.rate, err = ratelimit.ParseRate(setting.text); err != nil {
			return fmt.Errorf("RATE_LIMIT_%s: %w", setting.name, err)
		}
	}
	var err error
	c.http.TrustedProxies, err = readNetworks("TRUSTED_PROXIES", s.TrustedProxies)
	return err
}

// readNetworks parses a setting with addresses and networks, separated by commas.
func readNetworks(setting, text string) (netaddr.Proxies, error) {
	var list netaddr.Proxies
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		network, err := netip.ParsePrefix(part)
		if err != nil {
			at, err := netip.ParseAddr(part)
			if err != nil {
				return nil, fmt.Errorf("%s: %q is no address or network; write 10.0.0.0/8,2001:db8::1 or the like", setting, part)
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
	s.config.http.Limits.Limiter = l
	s.engines = append(s.engines, engineNote{limits, l.Engine()})
	return nil
}
