package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caarlos0/env/v11"

	"showfloor/handlers/pipeline"
	"showfloor/internal/areas"
	"showfloor/internal/base/secret"
	"showfloor/internal/outflow/webhook"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/setting"
)

// config holds the settings from the environment; docs/configuration.md explains each.
type config struct {
	AppEnv   string `env:"APP_ENV" envDefault:"development"`
	DataDir  string `env:"DATA_DIR" envDefault:"./data"`
	LogLevel string `env:"LOG_LEVEL" envDefault:"info"`

	HTTPAddr  string `env:"HTTP_ADDR" envDefault:":8080"`
	PublicURL string `env:"PUBLIC_URL"`
	AdminAddr string `env:"ADMIN_ADDR" envDefault:"127.0.0.1:6060"`
	NodeURL   string `env:"NODE_URL"`

	RTMPAddr     string `env:"RTMP_ADDR" envDefault:":1935"`
	IngestURL    string `env:"INGEST_URL"`
	IngestSecret string `env:"INGEST_SECRET"`

	RecorderURL     string `env:"RECORDER_URL"`
	RecorderSecret  string `env:"RECORDER_SECRET"`
	RecorderTimeout string `env:"RECORDER_TIMEOUT" envDefault:"10m"`

	TranscoderURL    string `env:"TRANSCODER_URL"`
	TranscoderSecret string `env:"TRANSCODER_SECRET"`
	PackagerURL      string `env:"PACKAGER_URL"`
	PackagerSecret   string `env:"PACKAGER_SECRET"`

	DatabaseURL string `env:"DATABASE_URL"`
	PGBin       string `env:"PG_BIN"`
	RedisURL    string `env:"REDIS_URL"`
	SMTPURL     string `env:"SMTP_URL"`
	MailFrom    string `env:"MAIL_FROM"`

	MasterKey       string `env:"MASTER_KEY"`
	MasterKeySecond string `env:"MASTER_KEY_SECOND"`
	AdminEmail      string `env:"ADMIN_EMAIL" envDefault:"admin@localhost"`
	AdminPassword   string `env:"ADMIN_PASSWORD"`

	CORSOrigins string `env:"CORS_ORIGINS" envDefault:"*"`

	WebhookRetrySchedule string `env:"WEBHOOK_RETRY_SCHEDULE"`

	PlatformFeePct string `env:"PLATFORM_FEE_PCT" envDefault:"0"`

	CapturesTotalBytes string `env:"CAPTURES_TOTAL_BYTES" envDefault:"10737418240"`

	UsageRetentionDays string `env:"USAGE_RETENTION_DAYS" envDefault:"92"`

	StorageSettings
	DiskSettings
	RetentionSettings
	RestreamSettings
	AISettings
	PushSettings
	ProcessorSettings
	BillingSettings
	LimitSettings
	RoomSettings
	ConnSettings
	TLSSettings
	CDNSettings

	// areas and http are the settings of these parts, parsed; key and secondKey are MasterKey and
	// MasterKeySecond, nil if unset. appEnvSet reports whether APP_ENV is set.
	areas     areas.Settings
	http      pipeline.Settings
	key       []byte
	secondKey []byte
	appEnvSet bool
	// cdn recognizes the CDNs of CDNSettings.
	cdn cdns
}

// Values of APP_ENV.
const (
	development = "development"
	production  = "production"
)

// loadConfig reads and checks the settings. Its error is one line that names
// the setting and says what it must be.
func loadConfig(environ []string) (config, error) {
	var c config
	if err := refuseUnknown(environ); err != nil {
		return c, err
	}
	settings := env.ToMap(environ)
	if err := env.ParseWithOptions(&c, env.Options{Environment: settings}); err != nil {
		return c, fmt.Errorf("settings: %w", err)
	}
	_, c.appEnvSet = settings["APP_ENV"]
	return c, c.check()
}

func (c *config) check() error {
	for _, err := range []error{
		oneOf("APP_ENV", c.AppEnv, development, production),
		oneOf("LOG_LEVEL", c.LogLevel, "debug", "info", "warn", "error"),
		address("HTTP_ADDR", c.HTTPAddr),
		address("ADMIN_ADDR", c.AdminAddr),
		address("RTMP_ADDR", c.RTMPAddr),
		optionalLink("PUBLIC_URL", c.PublicURL, "http", "https"),
		optional(nodeAddress)("NODE_URL", c.NodeURL),
		optionalLink("INGEST_URL", c.IngestURL, "rtmp", "rtmps"),
		optionalLink("RECORDER_URL", c.RecorderURL, "http", "https"),
		optionalLink("TRANSCODER_URL", c.TranscoderURL, "http", "https"),
		optionalLink("PACKAGER_URL", c.PackagerURL, "http", "https"),
		needsSecret("TRANSCODER", c.TranscoderURL, c.TranscoderSecret),
		needsSecret("PACKAGER", c.PackagerURL, c.PackagerSecret),
		optionalLink("DATABASE_URL", c.DatabaseURL, "postgres", "postgresql"),
		optionalLink("REDIS_URL", c.RedisURL, "redis", "rediss", "unix"),
		c.readStorage(),
		c.readMail(),
		c.checkTLS(),
		c.readSchedule(),
		c.readFee(),
		c.readCaptureBytes(),
		c.readUsageRetention(),
		c.readProcessor(c.AppEnv),
		c.readBilling(&c.areas),
		c.readLimits(),
		c.readCDN(),
		c.readRooms(),
		c.readRecorder(),
		c.readConns(),
		c.readDisk(),
		c.readRetention(),
		c.readRestream(),
		c.checkAI(),
		c.readPush(),
		checkOrigins(c.origins()),
		c.checkAdmin(),
		readKey("MASTER_KEY", c.MasterKey, &c.key),
		readKey("MASTER_KEY_SECOND", c.MasterKeySecond, &c.secondKey),
	} {
		if err != nil {
			return err
		}
	}
	if c.PublicURL == "" {
		c.PublicURL = c.derivePublicURL()
	}
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	c.NodeURL = strings.TrimRight(c.NodeURL, "/")
	if c.IngestURL == "" {
		c.IngestURL = c.deriveIngestURL()
	}
	c.IngestURL = strings.TrimRight(c.IngestURL, "/")
	c.shareSettings()
	return nil
}

// shareSettings passes on the settings that several parts need.
func (c *config) shareSettings() {
	c.areas.PublicURL, c.areas.IngestURL, c.areas.NodeURL, c.areas.SFUURL = c.PublicURL, c.IngestURL, c.NodeURL, c.sfuURL()
	c.areas.AllowPrivate, c.areas.Mailbox = c.trustsThisMachine(), c.AppEnv != production
	c.http.PublicURL, c.http.Origins, c.http.IngestSecret = c.PublicURL, c.origins(), c.IngestSecret
	c.http.TrustLoopback = c.trustsThisMachine()
	c.areas.SRSAPI = c.srsAPI
	c.http.RecorderSecret, c.areas.RecorderURL, c.areas.RecorderSecret = c.RecorderSecret, c.RecorderURL, c.RecorderSecret
	c.http.TranscoderSecret, c.areas.TranscoderURL, c.areas.TranscoderSecret = c.TranscoderSecret, c.TranscoderURL, c.TranscoderSecret
	c.http.PackagerSecret, c.areas.PackagerURL, c.areas.PackagerSecret = c.PackagerSecret, c.PackagerURL, c.PackagerSecret
}

// needsSecret returns an error if there is an outside program without a secret.
func needsSecret(name, url, secret string) error {
	if url != "" && secret == "" {
		return fmt.Errorf("%s_URL: set %s_SECRET too: it signs the requests to the program, its reports and its uploads", name, name)
	}
	return nil
}

// readRecorder reads RECORDER_TIMEOUT, and checks that an outside recorder has a secret.
func (c *config) readRecorder() error {
	if c.RecorderURL != "" && c.RecorderSecret == "" {
		return errors.New("RECORDER_URL: set RECORDER_SECRET too: it signs the requests to the recorder and its reports")
	}
	d, err := time.ParseDuration(c.RecorderTimeout)
	if err != nil || d < time.Second || d > 24*time.Hour {
		return fmt.Errorf("RECORDER_TIMEOUT: %q is not a duration from 1s to 24h, such as 10m", c.RecorderTimeout)
	}
	c.areas.RecorderTimeout = d
	return nil
}

// readMail reads SMTP_URL and MAIL_FROM.
func (c *config) readMail() error {
	var err error
	if c.SMTPURL != "" {
		if c.areas.MailServer, err = mail.ParseURL(c.SMTPURL); err != nil {
			return fmt.Errorf("SMTP_URL: %w", err)
		}
	}
	host := c.publicHost()
	if net.ParseIP(host) != nil {
		host = "localhost"
	}
	c.areas.MailFrom = &netmail.Address{Name: "Showfloor", Address: "no-reply@" + host}
	if c.MailFrom != "" {
		if c.areas.MailFrom, err = netmail.ParseAddress(c.MailFrom); err != nil {
			return fmt.Errorf("MAIL_FROM: %q is not a sender; write an address, or Name <address>", c.MailFrom)
		}
	}
	return nil
}

// publicHost returns the host of PUBLIC_URL.
func (c *config) publicHost() string {
	if u, err := url.Parse(c.PublicURL); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return "localhost"
}

func (c *config) readSchedule() error {
	c.areas.Schedule = webhook.DefaultSchedule()
	if c.WebhookRetrySchedule == "" {
		return nil
	}
	c.areas.Schedule = nil
	for part := range strings.SplitSeq(c.WebhookRetrySchedule, ",") {
		d, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || d < 0 {
			return fmt.Errorf("WEBHOOK_RETRY_SCHEDULE: %q is not a pause; write durations with commas between, such as 5s,5m,30m,2h", part)
		}
		c.areas.Schedule = append(c.areas.Schedule, d)
	}
	return nil
}

// readFee reads PLATFORM_FEE_PCT.
func (c *config) readFee() error {
	var err error
	if c.areas.PlatformFee, err = setting.ParseRate(c.PlatformFeePct); err != nil {
		return fmt.Errorf("PLATFORM_FEE_PCT: %w", err)
	}
	return nil
}

// readUsageRetention reads USAGE_RETENTION_DAYS.
func (c *config) readUsageRetention() error {
	const least, most = 32, 3660
	days, err := strconv.ParseInt(c.UsageRetentionDays, 10, 32)
	if err != nil || days < least || days > most {
		return fmt.Errorf("USAGE_RETENTION_DAYS: %q is not a number of days between %d and %d", c.UsageRetentionDays, least, most)
	}
	c.areas.UsageKeep = time.Duration(days) * 24 * time.Hour
	return nil
}

// readCaptureBytes reads CAPTURES_TOTAL_BYTES.
func (c *config) readCaptureBytes() error {
	const least = 64 << 20
	var err error
	if c.areas.CaptureBytes, err = strconv.ParseInt(c.CapturesTotalBytes, 10, 64); err != nil || c.areas.CaptureBytes < least {
		return fmt.Errorf("CAPTURES_TOTAL_BYTES: %q is not a number of bytes, %d (64 MiB) at least", c.CapturesTotalBytes, least)
	}
	return nil
}

func (c *config) checkAdmin() error {
	if !strings.Contains(c.AdminEmail, "@") {
		return fmt.Errorf("ADMIN_EMAIL: %q is not an e-mail address", c.AdminEmail)
	}
	if n := utf8.RuneCountInString(c.AdminPassword); n != 0 && (n < 10 || n > 128) {
		return errors.New("ADMIN_PASSWORD: must have 10 to 128 characters")
	}
	return nil
}

// derivePublicURL returns the API's URL for programs on this machine.
func (c *config) derivePublicURL() string {
	host, port, _ := net.SplitHostPort(c.HTTPAddr) // loadConfig has checked it
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// deriveIngestURL returns the built-in ingest's URL for encoders: the public host
// with RTMP's port.
func (c *config) deriveIngestURL() string {
	_, port, _ := net.SplitHostPort(c.RTMPAddr) // loadConfig has checked it
	return "rtmp://" + net.JoinHostPort(c.publicHost(), port) + "/live"
}

// readKey decodes a master key; "" leaves it nil.
func readKey(name, text string, key *[]byte) error {
	if text == "" {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != secret.KeySize {
		return fmt.Errorf("%s: must be %d bytes in base64; make one with: openssl rand -base64 %[2]d", name, secret.KeySize)
	}
	*key = raw
	return nil
}

// checkServing checks settings that only the running server needs, before it uses the data folder. In
// production the master key must not be stored with the data that it protects.
func (c *config) checkServing() error {
	if c.key == nil && c.AppEnv == production {
		return fmt.Errorf("MASTER_KEY: must be set in production; make one with: openssl rand -base64 %d", secret.KeySize)
	}
	_, err := c.loadTLS(slog.New(slog.DiscardHandler))
	return err
}

// masterKey returns MASTER_KEY, or the key in the data folder, which the first start
// creates.
func (c *config) masterKey() ([]byte, error) {
	if c.key != nil {
		return c.key, nil
	}
	path := filepath.Join(c.DataDir, "master.key")
	key, err := secret.KeyFile(path)
	if err != nil {
		return nil, fmt.Errorf("master key %s: %w", path, err)
	}
	return key, nil
}

func oneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s: %q is not known; use one of %s", name, value, strings.Join(allowed, ", "))
}

func address(name, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%s: %q is not an address; write host:port, or :port for all interfaces", name, value)
	}
	return nil
}

func optional(check func(name, value string) error) func(name, value string) error {
	return func(name, value string) error {
		if value == "" {
			return nil
		}
		return check(name, value)
	}
}

// link checks a URL. Its errors don't contain the URL, which may hold a password.
func link(name, value string, schemes ...string) error {
	u, err := url.Parse(value)
	if err == nil {
		for _, scheme := range schemes {
			local := scheme == "file" || scheme == "unix"
			if u.Scheme == scheme && (u.Host != "" || local && u.Path != "" || scheme == "postgres" || scheme == "postgresql") {
				return nil
			}
		}
	}
	return fmt.Errorf("%s: not a URL that begins with %s://", name, strings.Join(schemes, ":// or "))
}

func optionalLink(name, value string, schemes ...string) error {
	if value == "" {
		return nil
	}
	return link(name, value, schemes...)
}
