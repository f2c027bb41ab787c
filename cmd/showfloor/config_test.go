package main

import (
	"encoding/base64"
	"net/mail"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/handlers/pipeline"
	"showfloor/internal/areas"
	"showfloor/internal/base/blob"
	"showfloor/internal/base/diskspace"
	"showfloor/internal/base/netaddr"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/base/secret"
	"showfloor/internal/media/ladder"
	"showfloor/internal/outflow/tester"
	"showfloor/internal/outflow/webhook"
)

func diskMark(t *testing.T, text string) diskspace.Mark {
	t.Helper()
	m, err := diskspace.ParseMark(text)
	require.NoError(t, err)
	return m
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := loadConfig(nil)
	require.NoError(t, err)
	require.Equal(t, config{
		AppEnv: "development", DataDir: "./data", LogLevel: "info",
		HTTPAddr: ":8080", PublicURL: "http://localhost:8080", AdminAddr: "127.0.0.1:6060",
		StorageSettings: StorageSettings{
			StorageDelivery: "proxy", TranscodeWorkers: "1", transcodeWorkers: 1, ladderWorkers: ladder.DefaultPlaces(), DVRWindow: "4h", dvrWindow: 4 * time.Hour, SpoolMax: "20GiB", spoolMark: diskMark(t, "20GiB"),
		},
		CORSOrigins: "*", RTMPAddr: ":1935", IngestURL: "rtmp://localhost:1935/live",
		PlatformFeePct: "0", CapturesTotalBytes: "10737418240",
		ProcessorSettings:  ProcessorSettings{ProcessorURL: "https://api.stripe.com"},
		BillingSettings:    BillingSettings{SignupPlan: "FREE", BillingGraceDays: "7"},
		UsageRetentionDays: "92",
		RecorderTimeout:    "10m",
		AdminEmail:         "admin@localhost",
		LimitSettings: LimitSettings{
			Caller: "100/s:200", Tenant: "500/s:1000", Audience: "1000/s:10000", Public: "10/s:20", Auth: "10/min", Email: "5/min", Failures: "100/h", Mails: "5/h",
			Capture: "50/s:200", Misses: "1/s:20", Guesses: "1/s:20",
		},
		RoomSettings:      RoomSettings{SFUAddr: ":7882", SFUMaxViewers: "200", sfuMaxWatchers: 200, CallRingTimeout: "45s"},
		ConnSettings:      ConnSettings{HLSMaxPerAddress: "2000", hlsPerAddress: 2000, RTMPMaxPerAddress: "1000", rtmpPerAddress: 1000},
		AISettings:        AISettings{AITranscribeCalls: "8", transcribeCalls: 8},
		RetentionSettings: RetentionSettings{RetentionAuditDays: "0", RetentionMessagesDays: "0", RetentionSessionsDays: "0", RetentionTranscriptsDays: "0"},
		DiskSettings: DiskSettings{
			DiskLow: "2GiB", DiskVeryLow: "1GiB", diskMarks: diskspace.Marks{Low: diskMark(t, "2GiB"), VeryLow: diskMark(t, "1GiB")},
		},
		areas: areas.Settings{
			SignupPlan: "FREE", BillingGrace: 7 * 24 * time.Hour,
			PublicURL: "http://localhost:8080", IngestURL: "rtmp://localhost:1935/live", SFUURL: "ws://localhost:8080/sfu", TenantWatchers: 100, Broadcasts: max(1, runtime.GOMAXPROCS(0)/2),
			RecorderTimeout: 10 * time.Minute, RingTimeout: 45 * time.Second, Schedule: webhook.DefaultSchedule(), CaptureBytes: tester.DefaultTotalBytes,
			UsageKeep: 92 * 24 * time.Hour, MailFrom: &mail.Address{Name: "Showfloor", Address: "no-reply@localhost"}, Mailbox: true,
		},
		http: pipeline.Settings{
			PublicURL: "http://localhost:8080", Origins: []string{"*"},
			Limits: pipeline.Limits{
				Caller: ratelimit.Rate{Events: 100, Per: time.Second, Burst: 200}, Tenant: ratelimit.Rate{Events: 500, Per: time.Second, Burst: 1000},
				Audience: ratelimit.Rate{Events: 1000, Per: time.Second, Burst: 10000},
				Public:   ratelimit.Rate{Events: 10, Per: time.Second, Burst: 20},
				Auth:     ratelimit.Rate{Events: 10, Per: time.Minute, Burst: 10}, Email: ratelimit.Rate{Events: 5, Per: time.Minute, Burst: 5},
				Failures: ratelimit.Rate{Events: 100, Per: time.Hour, Burst: 100}, Mails: ratelimit.Rate{Events: 5, Per: time.Hour, Burst: 5},
				Misses:  ratelimit.Rate{Events: 1, Per: time.Second, Burst: 20},
				Capture: ratelimit.Rate{Events: 50, Per: time.Second, Burst: 200}, Guesses: ratelimit.Rate{Events: 1, Per: time.Second, Burst: 20},
			},
		},
	}, c)
	require.Equal(t, "ws://localhost:8080/sfu", c.sfuURL())
	require.NoError(t, c.checkServing())
}

func TestGoodSettings(t *testing.T) {
	t.Parallel()
	key := base64.StdEncoding.EncodeToString(make([]byte, secret.KeySize))
	for _, tt := range []struct {
		environ []string
		check   func(t *testing.T, c config)
	}{
		{[]string{"PUBLIC_URL=https://live.example/", "RTMP_ADDR=0.0.0.0:2935"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, "https://live.example", c.PublicURL)
			require.Equal(t, "rtmp://live.example:2935/live", c.IngestURL)
			require.Equal(t, "no-reply@live.example", c.areas.MailFrom.Address)
			require.Nil(t, c.areas.MailServer)
		}},
		{[]string{
			"PUBLIC_URL=https://live.example/base/", "SFU_EXTERNAL_IPS= 203.0.113.7 ,2001:db8::7,", "TURN_ADDR=:3478", "TURN_EXTERNAL_IP=203.0.113.8",
			"CALL_RING_TIMEOUT=1m",
		}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, "wss://live.example/base/sfu", c.sfuURL())
			require.Equal(t, []netip.Addr{netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("2001:db8::7")}, c.sfuIPs)
			require.Equal(t, netip.MustParseAddr("203.0.113.8"), c.turnIP)
			require.Equal(t, time.Minute, c.areas.RingTimeout)
		}},
		{[]string{"SFU_URL=wss://sfu-2.example/sfu/"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, "wss://sfu-2.example/sfu", c.sfuURL())
		}},
		{[]string{"HTTP_ADDR=127.0.0.1:9000"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, "http://localhost:9000", c.PublicURL)
		}},
		{[]string{"HTTP_ADDR=192.0.2.7:80"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, "http://192.0.2.7:80", c.PublicURL)
			require.Equal(t, "rtmp://192.0.2.7:1935/live", c.IngestURL)
		}},
		{[]string{"PUBLIC_URL=http://[::1]:8080"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, "rtmp://[::1]:1935/live", c.IngestURL)
			require.Equal(t, "no-reply@localhost", c.areas.MailFrom.Address)
		}},
		{[]string{"INGEST_URL=rtmps://in.example/app/"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, "rtmps://in.example/app", c.IngestURL)
		}},
		{[]string{"SRS_API_URL=http://10.0.0.7:1985,https://ada:secret@srs.example/"}, func(t *testing.T, c config) {
			t.Helper()
			require.Len(t, c.areas.SRSAPI, 2)
			require.Equal(t, "srs.example", c.areas.SRSAPI[1].Host)
		}},
		{[]string{"SIGNUP_PLAN=STARTER", "BILLING_GRACE_DAYS=0", "BILLING_AUTOMATIC_TAX=true"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, "STARTER", c.areas.SignupPlan)
			require.Zero(t, c.areas.BillingGrace)
			require.True(t, c.areas.AutomaticTax)
		}},
		{[]string{"PLATFORM_FEE_PCT="}, func(t *testing.T, c config) {
			t.Helper()
			require.Zero(t, c.areas.PlatformFee)
		}},
		{[]string{"PLATFORM_FEE_PCT=2.5"}, func(t *testing.T, c config) {
			t.Helper()
			require.EqualValues(t, 250, c.areas.PlatformFee)
		}},
		{[]string{"WEBHOOK_RETRY_SCHEDULE=0s, 5s,1m30s"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, []time.Duration{0, 5 * time.Second, 90 * time.Second}, c.areas.Schedule)
		}},
		{[]string{"RTMPS_CERT_FILE=c", "RTMPS_KEY_FILE=k"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, ":1936", c.RTMPSAddr)
		}},
		{[]string{"APP_ENV=", "HTTP_ADDR=", "MASTER_KEY="}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, []string{"development", ":8080"}, []string{c.AppEnv, c.HTTPAddr}, "empty is as good as unset")
		}},
		{[]string{"RATE_LIMIT_CALLER=7/min:9", "RATE_LIMIT_EMAIL=off", "TRUSTED_PROXIES=10.0.0.0/8, 2001:db8::1"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, ratelimit.Rate{Events: 7, Per: time.Minute, Burst: 9}, c.http.Limits.Caller)
			require.False(t, c.http.Limits.Email.Limits())
			require.Equal(t, netaddr.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}, c.http.TrustedProxies)
		}},
		{[]string{"CORS_ORIGINS=https://app.example, https://*.example.com:8443/,http://localhost:3000"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, []string{"https://app.example", "https://*.example.com:8443", "http://localhost:3000"}, c.origins())
		}},
		{[]string{"PROCESSOR_KEY=rk_live_hunter2", "PROCESSOR_URL=http://127.0.0.1:9/sandbox/", "PROCESSOR_WEBHOOK_SECRET=whsec_a", "PROCESSOR_CONNECT_SECRET=whsec_b", "APP_ENV=production"}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, ProcessorSettings{"rk_live_hunter2", "http://127.0.0.1:9/sandbox", "whsec_a", "whsec_b"}, c.ProcessorSettings)
			require.Equal(t, "127.0.0.1:9", c.processorEngine())
		}},
		{[]string{"PROCESSOR_KEY=sk_test_hunter2", "PROCESSOR_URL="}, func(t *testing.T, c config) {
			t.Helper()
			require.Equal(t, "api.stripe.com, with a test key", c.processorEngine())
		}},
		{[]string{"PROCESSOR_KEY=sk_sandbox_hunter2"}, nil},
		{[]string{"REDIS_URL=unix:///run/redis.sock"}, nil},
		{[]string{"DATABASE_URL=postgres:///showfloor?host=/run/postgresql"}, nil},
		{[]string{"ADMIN_PASSWORD=ääääääääää"}, nil},
		{[]string{"MASTER_KEY=" + key, "APP_ENV=production"}, func(t *testing.T, c config) {
			t.Helper()
			require.NoError(t, c.checkServing())
			read, err := c.masterKey()
			require.NoError(t, err)
			require.Len(t, read, secret.KeySize)
		}},
		{[]string{"SMTP_URL=smtp://user:hunter2@mail", "MAIL_FROM=Acme Live <live@acme.example>"}, func(t *testing.T, c config) {
			t.Helper()
			require.NotNil(t, c.areas.MailServer)
			require.Equal(t, mail.Address{Name: "Acme Live", Address: "live@acme.example"}, *c.areas.MailFrom)
		}},
		{[]string{"STORAGE_URL=file:///files", "MEDIA_URL=https://cdn.example/live/"}, func(t *testing.T, c config) {
			t.Helper()
			storage := c.storage()
			require.Equal(t, "/files", storage.Folder())
			require.False(t, storage.Redirect)
			require.Equal(t, "the folder at STORAGE_URL", c.storageEngine())
			require.Equal(t, "https://cdn.example/live", c.MediaURL)
		}},
		{[]string{"DATA_DIR=/srv/data", "MEDIA_URL=https://cdn.example/"}, func(t *testing.T, c config) {
			t.Helper()
			storage := c.storage()
			require.Equal(t, "/srv/data/files", storage.Folder())
			require.Equal(t, "the data folder", c.storageEngine())
			require.Equal(t, "https://cdn.example", c.MediaURL)
		}},
		{[]string{
			"STORAGE_URL=s3://media/live?endpoint=http://127.0.0.1:9000&path_style=true", "STORAGE_DELIVERY=redirect", "AWS_ACCESS_KEY_ID=id",
			"AWS_SECRET_ACCESS_KEY=hunter2", "AWS_SESSION_TOKEN=token", "AWS_DEFAULT_REGION=eu-central-1",
		}, func(t *testing.T, c config) {
			t.Helper()
			storage := c.storage()
			require.Empty(t, storage.Folder())
			require.True(t, storage.Redirect)
			require.Equal(t, blob.Keys{ID: "id", Secret: "hunter2", SessionToken: "token"}, storage.Keys)
			require.Equal(t, "eu-central-1", storage.Region)
			require.Equal(t, "S3 at STORAGE_URL, with redirects", c.storageEngine())
		}},
	} {
		t.Run(strings.Join(tt.environ, " "), func(t *testing.T) {
			t.Parallel()
			c, err := loadConfig(tt.environ)
			require.NoError(t, err)
			if tt.check != nil {
				tt.check(t, c)
			}
		})
	}
}

// TestMalformedSettings requires an error of one line that names the setting
// and contains no secret.
func TestMalformedSettings(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	for _, tt := range []struct{ name, value, says string }{
		{"APP_ENV", "prod", `APP_ENV: "prod" is not known; use one of development, production`},
		{"LOG_LEVEL", "verbose", `LOG_LEVEL: "verbose" is not known; use one of debug, info, warn, error`},
		{"HTTP_ADDR", "8080", `HTTP_ADDR: "8080" is not an address; write host:port, or :port for all interfaces`},
		{"HTTP_ADDR", ":65536", `HTTP_ADDR: ":65536" is not an address; write host:port, or :port for all interfaces`},
		{"HTTP_ADDR", "::1:80", `HTTP_ADDR: "::1:80" is not an address; write host:port, or :port for all interfaces`},
		{"ADMIN_ADDR", ":", `ADMIN_ADDR: ":" is not an address; write host:port, or :port for all interfaces`},
		{"RTMP_ADDR", "a:b", `RTMP_ADDR: "a:b" is not an address; write host:port, or :port for all interfaces`},
		{"RTMP_ADDR", ":1\n2", `RTMP_ADDR: ":1\n2" is not an address; write host:port, or :port for all interfaces`},
		{"SFU_ADDR", "7882", `SFU_ADDR: "7882" is not an address; write host:port, or :port for all interfaces`},
		{"AI_URL", "api.openai.com", "AI_URL is not an http or https address such as https://api.openai.com/v1, without a password and a query"},
		{"AI_URL", "https://user:hunter2@ai.example/v1", "AI_URL is not an http or https address such as https://api.openai.com/v1, without a password and a query"},
		{"AI_URL", "http://127.0.0.1:11434/v1", "AI_SUMMARY_MODEL and AI_TRANSCRIBE_MODEL are missing: name the model of http://127.0.0.1:11434/v1 that writes summaries, that for speech, or both"},
		{"AI_TRANSCRIBE_MODEL", "whisper-1", "AI_URL is missing: AI_TRANSCRIBE_MODEL is a model of its endpoint, or of that of AI_TRANSCRIBE_URL"},
		{"AI_TRANSCRIBE_URL", "http://127.0.0.1:8080/v1", "AI_TRANSCRIBE_MODEL is missing: name the model of http://127.0.0.1:8080/v1 for speech"},
		{"AI_TRANSCRIBE_URL", "ftp://127.0.0.1", "AI_TRANSCRIBE_URL is not an http or https address such as https://api.openai.com/v1, without a password and a query"},
		{"AI_TRANSCRIBE_KEY", "hunter2", "AI_TRANSCRIBE_URL is missing: AI_TRANSCRIBE_KEY is for the endpoint that it names"},
		{"AI_TRANSCRIBE_LANGUAGE", "german", `AI_TRANSCRIBE_LANGUAGE: "german" is not the code of a language, such as de`},
		{"AI_TRANSCRIBE_CALLS", "0", `AI_TRANSCRIBE_CALLS: "0" is not a number from 1 to 1000`},
		{"AI_KEY", "hunter2", "AI_URL is missing: AI_KEY and AI_SUMMARY_MODEL are for the endpoint that it names"},
		{"RETENTION_TRANSCRIPTS_DAYS", "x", `RETENTION_TRANSCRIPTS_DAYS: "x" is not a number of days from 1 to 36500, or 0 to keep forever`},
		{"SFU_MAX_VIEWERS", "-1", `SFU_MAX_VIEWERS: "-1" is not a number of at least 0`},
		{"SFU_URL", "https://sfu.example", "SFU_URL: not a URL that begins with ws:// or wss://"},
		{"SFU_EXTERNAL_IPS", "203.0.113.7,live.example", `SFU_EXTERNAL_IPS: "live.example" is not an IP address; write those by which clients reach SFU_ADDR, with commas between`},
		{"SFU_EXTERNAL_IPS", "0.0.0.0", `SFU_EXTERNAL_IPS: "0.0.0.0" is not an IP address; write those by which clients reach SFU_ADDR, with commas between`},
		{"TURN_ADDR", "x", `TURN_ADDR: "x" is not an address; write host:port, or :port for all interfaces`},
		{"TURN_ADDR", ":7882", "TURN_ADDR and SFU_ADDR must not be the same"},
		{"TURN_EXTERNAL_IP", "203.0.113.7", "TURN_EXTERNAL_IP needs TURN_ADDR, where the relay listens"},
		{"RECORDER_TIMEOUT", "10", `RECORDER_TIMEOUT: "10" is not a duration from 1s to 24h, such as 10m`},
		{"RECORDER_URL", "https://recorder.example", "RECORDER_URL: set RECORDER_SECRET too: it signs the requests to the recorder and its reports"},
		{"RECORDER_URL", "ftp://x", "RECORDER_URL: not a URL that begins with http:// or https://"},
		{"CALL_RING_TIMEOUT", "45", `CALL_RING_TIMEOUT: "45" is not a time between 1s and 10m; write a duration such as 45s`},
		{"RTMPS_ADDR", "x", `RTMPS_ADDR: "x" is not an address; write host:port, or :port for all interfaces`},
		{"RTMPS_ADDR", ":1936", "RTMPS_ADDR needs RTMPS_CERT_FILE and RTMPS_KEY_FILE (paths of PEM files)"},
		{"NODE_URL", "10.0.0.5:8080", `NODE_URL: "10.0.0.5:8080" is not the address of a server; write http://10.0.0.5:8080 or the like, without a path`},
		{"NODE_URL", "http://h/path", `NODE_URL: "http://h/path" is not the address of a server; write http://10.0.0.5:8080 or the like, without a path`},
		{"HTTPS_ADDR", "x", `HTTPS_ADDR: "x" is not an address; write host:port, or :port for all interfaces`},
		{"HTTPS_ADDR", ":443", "HTTPS_ADDR needs HTTPS_CERT_FILE and HTTPS_KEY_FILE (paths of PEM files)"},
		{"HTTPS_CERT_FILE", "c.pem", "HTTPS_CERT_FILE and HTTPS_KEY_FILE must be set together"},
		{"RTMPS_CERT_FILE", "c.pem", "RTMPS_CERT_FILE and RTMPS_KEY_FILE must be set together"},
		{"RTMPS_KEY_FILE", "k.pem", "RTMPS_CERT_FILE and RTMPS_KEY_FILE must be set together"},
		{"PUBLIC_URL", "live.example", "PUBLIC_URL: not a URL that begins with http:// or https://"},
		{"PUBLIC_URL", "https://", "PUBLIC_URL: not a URL that begins with http:// or https://"},
		{"PUBLIC_URL", "http://%zz", "PUBLIC_URL: not a URL that begins with http:// or https://"},
		{"INGEST_URL", "https://live", "INGEST_URL: not a URL that begins with rtmp:// or rtmps://"},
		{"SRS_API_URL", "http://u:hunter2@h/api", "SRS_API_URL: not a list of addresses such as http://10.0.0.7:1985, separated by commas, without a path"},
		{"DATABASE_URL", "mysql://u:hunter2@h/d", "DATABASE_URL: not a URL that begins with postgres:// or postgresql://"},
		{"DATABASE_URL", "postgres://u:hunter2@h:x/d", "DATABASE_URL: not a URL that begins with postgres:// or postgresql://"},
		{"REDIS_URL", "hunter2", "REDIS_URL: not a URL that begins with redis:// or rediss:// or unix://"},
		{"CORS_ORIGINS", "app.example", `CORS_ORIGINS: "app.example" is no origin; write https://app.example,https://*.example.com or the like, or * for all`},
		{"CORS_ORIGINS", "https://app.example/path", `CORS_ORIGINS: "https://app.example/path" is no origin; write https://app.example,https://*.example.com or the like, or * for all`},
		{"CORS_ORIGINS", "https://*", `CORS_ORIGINS: "https://*" is no origin; write https://app.example,https://*.example.com or the like, or * for all`},
		{"CORS_ORIGINS", "https://a.*.example", `CORS_ORIGINS: "https://a.*.example" is no origin; write https://app.example,https://*.example.com or the like, or * for all`},
		{"CORS_ORIGINS", "null", `CORS_ORIGINS: "null" is no origin; write https://app.example,https://*.example.com or the like, or * for all`},
		{"CORS_ORIGINS", "https://a.example,*", `CORS_ORIGINS: "*" is no origin; write https://app.example,https://*.example.com or the like, or * for all`},
		{"RATE_LIMIT_CALLER", "fast", `RATE_LIMIT_CALLER: "fast" is not a rate; write 100/s:200 for 100 a second and 200 at once, with s, min or h, or off`},
		{"RATE_LIMIT_GUESSES", "1/h:99", `RATE_LIMIT_GUESSES: "1/h:99": a bucket that is empty would take longer than 24h0m0s to fill`},
		{"TRUSTED_PROXIES", "10.0.0.0/33", `TRUSTED_PROXIES: "10.0.0.0/33" is no address or network; write 10.0.0.0/8,2001:db8::1 or the like`},
		{"CDN_ADDRESSES", "cdn.example", `CDN_ADDRESSES: "cdn.example" is no address or network; write 10.0.0.0/8,2001:db8::1 or the like`},
		{"CDN_SECRET", "fifteen letters", `CDN_SECRET: needs at least 16 characters; openssl rand -hex 16 makes one`},
		{"TRUSTED_PROXIES", "proxy", `TRUSTED_PROXIES: "proxy" is no address or network; write 10.0.0.0/8,2001:db8::1 or the like`},
		{"STORAGE_URL", "s3://", "STORAGE_URL: the bucket's name, behind s3://, must have 3 to 63 lower-case letters, digits, dots and hyphens"},
		{"STORAGE_URL", "/srv/files", "STORAGE_URL: must begin with file:// or s3://"},
		{"STORAGE_URL", "https://u:hunter2@h", "STORAGE_URL: contains a user or a key; keys belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		{"STORAGE_URL", "file://files", "STORAGE_URL: a folder is written as file:///path, with three slashes and nothing behind the path"},
		{"STORAGE_URL", "s3://media?secret_key=hunter2", `STORAGE_URL: the parameter "secret_key" is not known; use region, endpoint, path_style`},
		{"STORAGE_URL", "s3://media/../x", "STORAGE_URL: the prefix, behind the bucket, may have letters, digits and . - _, with slashes between its parts"},
		{"STORAGE_URL", "s3://media?endpoint=http://u:hunter2@h", "STORAGE_URL: endpoint must be a host, such as endpoint=minio.example:9000, or endpoint=http://127.0.0.1:9000 for HTTP without TLS"},
		{"STORAGE_DELIVERY", "cdn", `STORAGE_DELIVERY: "cdn" is not known; use one of proxy, redirect`},
		{"STORAGE_DELIVERY", "redirect", "STORAGE_DELIVERY: redirect needs a STORAGE_URL that begins with s3://, because a folder can't serve clients"},
		{"AWS_SECRET_ACCESS_KEY", "hunter2", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set together"},
		{"DVR_WINDOW", "4", "DVR_WINDOW: \"4\" is not a duration of at least 1m, such as 4h"},
		{"TRANSCODE_WORKERS", "many", `TRANSCODE_WORKERS: "many" is not a number from 0 to 64`},
		{"BROADCASTS", "257", `BROADCASTS: "257" is not a number from 0 to 256`},
		{"LADDER_WORKERS", "-1", `LADDER_WORKERS: "-1" is not a number from 0 to 256`},
		{"RECORDING_SPOOL_MAX", "10MiB", "RECORDING_SPOOL_MAX: \"10MiB\" is not a size of at least 100MiB, such as 20GiB, or a share of the disk, such as 10%"},
		{"MEDIA_URL", "cdn.example", "MEDIA_URL: not a URL that begins with http:// or https://"},
		{"MEDIA_URL", "https://u:hunter2@cdn.example", "MEDIA_URL: must have no user, query or fragment"},
		{"MEDIA_URL", "https://cdn.example/?hunter2", "MEDIA_URL: must have no user, query or fragment"},
		{"MEDIA_URL", "https://cdn.example/a/../b", "MEDIA_URL: its path must have no dots, empty parts or escaped slashes"},
		{"MEDIA_URL", "https://cdn.example/a%2f..%2fb", "MEDIA_URL: its path must have no dots, empty parts or escaped slashes"},
		{"MEDIA_URL", "https://cdn.example/a/%2e%2e/b", "MEDIA_URL: its path must have no dots, empty parts or escaped slashes"},
		{"SMTP_URL", "smtp:hunter2", "SMTP_URL: not of the form smtp://user:password@host:port"},
		{"SMTP_URL", "http://user:hunter2@mail", "SMTP_URL: not a URL that begins with smtp:// or smtps://"},
		{"SMTP_URL", "smtp://mail?tls=hunter2", "SMTP_URL: has unknown parameters; the only one is ?tls=off, with smtp://"},
		{"MAIL_FROM", "root", `MAIL_FROM: "root" is not a sender; write an address, or Name <address>`},
		{"PROCESSOR_KEY", "pk_live_hunter2", "PROCESSOR_KEY: must be a secret key, which begins with sk_ or rk_"},
		{"PROCESSOR_KEY", "sk_", "PROCESSOR_KEY: must be a secret key, which begins with sk_ or rk_"},
		{"PROCESSOR_KEY", "sk_live_hunter2\n", "PROCESSOR_KEY: must be a secret key, which begins with sk_ or rk_"},
		{"PROCESSOR_URL", "api.stripe.com", "PROCESSOR_URL: not a URL that begins with http:// or https://"},
		{"PROCESSOR_URL", "https://u:hunter2@h", "PROCESSOR_URL: must have no user, query or fragment"},
		{"PROCESSOR_URL", "https://h/?key=hunter2", "PROCESSOR_URL: must have no user, query or fragment"},
		{"PROCESSOR_WEBHOOK_SECRET", "whsec_a hunter2", "PROCESSOR_WEBHOOK_SECRET: must be a signing secret without spaces, such as whsec_…"},
		{"PROCESSOR_CONNECT_SECRET", "\n", "PROCESSOR_CONNECT_SECRET: must be a signing secret without spaces, such as whsec_…"},
		{"PROCESSOR_WEBHOOK_SECRET", "whsec_hunter2", "PROCESSOR_WEBHOOK_SECRET: has no effect without PROCESSOR_KEY, which is not set; set both or neither"},
		{"PROCESSOR_CONNECT_SECRET", "whsec_hunter2", "PROCESSOR_CONNECT_SECRET: has no effect without PROCESSOR_KEY, which is not set; set both or neither"},
		{"HTTP_MAX_CONNECTIONS", "0", `HTTP_MAX_CONNECTIONS: "0" is not a number of at least 1`},
		{"HTTP_MAX_PER_ADDRESS", "-1", `HTTP_MAX_PER_ADDRESS: "-1" is not a number of at least 1`},
		{"HLS_MAX_PER_ADDRESS", "0", `HLS_MAX_PER_ADDRESS: "0" is not a number of at least 1`},
		{"RTMP_MAX_PER_ADDRESS", "0", `RTMP_MAX_PER_ADDRESS: "0" is not a number of at least 1`},
		{"RTMP_MAX_PER_ADDRESS", "many", `RTMP_MAX_PER_ADDRESS: "many" is not a number of at least 1`},
		{"MASTER_KEY", "hunter2", "MASTER_KEY: must be 32 bytes in base64; make one with: openssl rand -base64 32"},
		{"MASTER_KEY", "aHVudGVyMg==", "MASTER_KEY: must be 32 bytes in base64; make one with: openssl rand -base64 32"},
		{"ADMIN_EMAIL", "root", `ADMIN_EMAIL: "root" is not an e-mail address`},
		{"ADMIN_PASSWORD", "hunter2", "ADMIN_PASSWORD: must have 10 to 128 characters"},
		{"ADMIN_PASSWORD", strings.Repeat(hidden, 20), "ADMIN_PASSWORD: must have 10 to 128 characters"},
		{"SIGNUP_PLAN", "GOLD", `SIGNUP_PLAN: "GOLD" is none of FREE, STARTER, PRO, ENTERPRISE`},
		{"BILLING_GRACE_DAYS", "91", `BILLING_GRACE_DAYS: "91" is not a number of days between 0 and 90`},
		{"BILLING_GRACE_DAYS", "a week", `BILLING_GRACE_DAYS: "a week" is not a number of days between 0 and 90`},
		{"PLATFORM_FEE_PCT", "2,5", `PLATFORM_FEE_PCT: "2,5" is not a number from 0 to 100 with at most two decimals`},
		{"PLATFORM_FEE_PCT", "100.01", `PLATFORM_FEE_PCT: "100.01" is not a number from 0 to 100 with at most two decimals`},
		{"USAGE_RETENTION_DAYS", "90d", `USAGE_RETENTION_DAYS: "90d" is not a number of days between 32 and 3660`},
		{"USAGE_RETENTION_DAYS", "31", `USAGE_RETENTION_DAYS: "31" is not a number of days between 32 and 3660`},
		{"RETENTION_SESSIONS_DAYS", "90d", `RETENTION_SESSIONS_DAYS: "90d" is not a number of days from 1 to 36500, or 0 to keep forever`},
		{"CAPTURES_TOTAL_BYTES", "10GiB", `CAPTURES_TOTAL_BYTES: "10GiB" is not a number of bytes, 67108864 (64 MiB) at least`},
		{"CAPTURES_TOTAL_BYTES", "1000", `CAPTURES_TOTAL_BYTES: "1000" is not a number of bytes, 67108864 (64 MiB) at least`},
		{"WEBHOOK_RETRY_SCHEDULE", "5s,", `WEBHOOK_RETRY_SCHEDULE: "" is not a pause; write durations with commas between, such as 5s,5m,30m,2h`},
		{"WEBHOOK_RETRY_SCHEDULE", "5", `WEBHOOK_RETRY_SCHEDULE: "5" is not a pause; write durations with commas between, such as 5s,5m,30m,2h`},
		{"WEBHOOK_RETRY_SCHEDULE", "-5s", `WEBHOOK_RETRY_SCHEDULE: "-5s" is not a pause; write durations with commas between, such as 5s,5m,30m,2h`},
	} {
		t.Run(tt.name+"="+tt.value, func(t *testing.T) {
			t.Parallel()
			_, err := loadConfig([]string{tt.name + "=" + tt.value})
			require.EqualError(t, err, tt.says)
			require.NotContains(t, err.Error(), hidden)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestUnknownSettings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, says string }{
		{"DATABSE_URL", "DATABSE_URL is not a setting; did you mean DATABASE_URL?"},
		{"HTTP_ADR", "HTTP_ADR is not a setting; did you mean HTTP_ADDR?"},
		{"PGBIN", "PGBIN is not a setting; did you mean PG_BIN?"},
		{"HTTPADDR", "HTTPADDR is not a setting; did you mean HTTP_ADDR?"},
		{"DATA_DIRS", "DATA_DIRS is not a setting; did you mean DATA_DIR?"},
		{"REDIS_URI", "REDIS_URI is not a setting; did you mean REDIS_URL?"},
		{"RTMPS_CERTFILE", "RTMPS_CERTFILE is not a setting; did you mean RTMPS_CERT_FILE?"},
		{"WEBHOOK_TIMEOUT", "WEBHOOK_TIMEOUT is not a setting; docs/configuration.md lists those that there are"},
		{"PROCESSOR_SECRET", "PROCESSOR_SECRET is not a setting; docs/configuration.md lists those that there are"},
		{"PLATFORM_FEE", "PLATFORM_FEE is not a setting; docs/configuration.md lists those that there are"},
		{"SMTP_PASSWORD", "SMTP_PASSWORD is not a setting; docs/configuration.md lists those that there are"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := loadConfig([]string{tt.name + "=hunter2"})
			require.EqualError(t, err, tt.says)
		})
	}
}

// TestOtherPeoplesVariables requires that the variables of operating systems
// and platforms are accepted.
func TestOtherPeoplesVariables(t *testing.T) {
	t.Parallel()
	_, err := loadConfig([]string{
		"PATH=/bin", "HOME=/root", "USER=root", "LANG=C", "TERM=xterm", "PWD=/", "SHLVL=1", "HOSTNAME=h", "_=/bin/env", "TZ=UTC",
		"PGDATA=/x", "PGUSER=u", "PGHOST=h", "LOGNAME=root", "LS_COLORS=x", "MAKEFLAGS=", "GOBIN=/x", "GOPATH=/x", "NPM_ENV=x", "CI=true",
		"HTTP_PROXY=http://p", "HTTPS_PROXY=http://p", "NO_PROXY=x", "XDG_DATA_DIRS=/usr/share", "DEBIAN_FRONTEND=x", "SSH_TTY=/dev/pts/0",
		"NOT_EVEN_A_PAIR", "",
		"KUBERNETES_SERVICE_HOST=10.0.0.1", "KUBERNETES_PORT=tcp://10.0.0.1:443",
		"REDIS_SERVICE_HOST=10.0.0.2", "REDIS_SERVICE_PORT=6379", "REDIS_SERVICE_PORT_REDIS=6379", "REDIS_PORT=tcp://10.0.0.2:6379",
		"REDIS_PORT_6379_TCP=tcp://10.0.0.2:6379", "REDIS_PORT_6379_TCP_ADDR=10.0.0.2", "REDIS_PORT_6379_TCP_PROTO=tcp",
		"RTMP_PORT_1935_UDP=udp://10.0.0.3:1935", "DATABASE_MAIN_SERVICE_HOST=10.0.0.4",
	})
	require.NoError(t, err)
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "xabc", 1},
		{"ab", "ba", 2}, {"kitten", "sitting", 3}, {"HTTP_ADDR", "RTMP_ADDR", 2},
	} {
		require.Equal(t, tt.want, editDistance(tt.a, tt.b), "%s %s", tt.a, tt.b)
		require.Equal(t, tt.want, editDistance(tt.b, tt.a), "%s %s", tt.b, tt.a)
	}
}

func TestNoSandboxInProduction(t *testing.T) {
	t.Parallel()
	_, err := loadConfig([]string{"APP_ENV=production", "PROCESSOR_KEY=sk_sandbox_hunter2"})
	require.EqualError(t, err, "PROCESSOR_KEY: a key of the sandbox doesn't work in production, where money moves")
}

func TestServingNeedsItsKeys(t *testing.T) {
	t.Parallel()
	c, err := loadConfig([]string{"APP_ENV=production"})
	require.NoError(t, err, "migrating needs no master key")
	require.EqualError(t, c.checkServing(), "MASTER_KEY: must be set in production; make one with: openssl rand -base64 32")

	bad := filepath.Join(t.TempDir(), "bad.pem")
	require.NoError(t, os.WriteFile(bad, []byte("no PEM"), 0o600))
	for _, file := range []string{bad, filepath.Join(t.TempDir(), "missing.pem")} {
		c, err := loadConfig([]string{"RTMPS_CERT_FILE=" + file, "RTMPS_KEY_FILE=" + file})
		require.NoError(t, err)
		require.ErrorContains(t, c.checkServing(), "RTMPS_CERT_FILE and RTMPS_KEY_FILE: ")
	}
}

// TestMasterKeyFile requires that later starts use the key that the first start
// created.
func TestMasterKeyFile(t *testing.T) {
	t.Parallel()
	c, err := loadConfig([]string{"DATA_DIR=" + t.TempDir()})
	require.NoError(t, err)
	first, err := c.masterKey()
	require.NoError(t, err)
	require.Len(t, first, secret.KeySize)
	second, err := c.masterKey()
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.NoError(t, os.WriteFile(filepath.Join(c.DataDir, "master.key"), []byte("broken"), 0o600))
	_, err = c.masterKey()
	require.ErrorContains(t, err, filepath.Join(c.DataDir, "master.key"))
}

// TestEverySettingIsDocumented requires that the documentation's table lists
// all settings and nothing else.
func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	documented := []string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, regexp.MustCompile("[A-Z_]+").FindAllString(row[1], -1)...)
	}
	require.ElementsMatch(t, append(settingNames(), "GOGC"), documented) // GOGC is a variable of the Go runtime
}
