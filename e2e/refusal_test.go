package e2e

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

func TestSecondServerOnTheSameFolder(t *testing.T) {
	t.Parallel()
	s := serve(t)
	other := prepare(t)
	other.settings["DATA_DIR"] = s.dir
	p := launch(t, other.command(t))
	require.Equal(t, 1, p.wait(t))
	require.Empty(t, p.out.String())
	require.Equal(t, "showfloor: the data folder "+s.dir+" is in use by the process with pid "+strconv.Itoa(s.cmd.Process.Pid)+
		": stop it (kill "+strconv.Itoa(s.cmd.Process.Pid)+"), or set DATA_DIR to another folder\n", p.err.String())
	status, _ := get(t.Context(), t, s.url+"/v1/health/ready")
	require.Equal(t, 200, status, "the first goes on")
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"HTTP_ADDR", "ADMIN_ADDR", "RTMP_ADDR", "SFU_ADDR"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holder, err := net.Listen("tcp", freeAddr(t))
			require.NoError(t, err)
			defer holder.Close()
			s := prepare(t, onTestDatabase, set(name, holder.Addr().String()))
			p := launch(t, s.command(t))
			require.Equal(t, 1, p.wait(t))
			last := lastLine(p.err.String())
			require.Contains(t, last, "showfloor: "+name+": ")
			require.Contains(t, last, "address already in use")
			require.Contains(t, last, "stop what uses the port or set "+name+" to another")
			require.Empty(t, p.out.String(), "no banner")
		})
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// TestWrongSettings starts the server with each setting wrong in turn. It must
// print one line that names the setting, exit with code 2, and create nothing
// in the data folder.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	const secret = "S3cretPassw0rd"
	cert, key := selfSigned(t)
	for _, c := range []struct {
		name, value string
		others      []option
	}{
		{name: "APP_ENV", value: "staging"},
		{name: "LOG_LEVEL", value: "loud"},
		{name: "HTTP_ADDR", value: "8080"},
		{name: "PUBLIC_URL", value: "localhost"},
		{name: "ADMIN_ADDR", value: "127.0.0.1:"},
		{name: "RTMP_ADDR", value: "127.0.0.1:70000"},
		{name: "RTMPS_ADDR", value: "nonsense"},
		{name: "RTMPS_CERT_FILE", value: "/only/one"},
		{name: "RTMPS_KEY_FILE", value: "/only/one"},
		{name: "RTMPS_CERT_FILE", value: "/not/there", others: []option{set("RTMPS_KEY_FILE", key)}},
		{name: "RTMPS_KEY_FILE", value: "/not/there", others: []option{set("RTMPS_CERT_FILE", cert)}},
		{name: "HTTPS_ADDR", value: ":443"},
		{name: "HTTPS_CERT_FILE", value: "/not/there", others: []option{set("HTTPS_KEY_FILE", key)}},
		{name: "INGEST_URL", value: "http://ingest.example"},
		{name: "DATABASE_URL", value: "mysql://user:" + secret + "@db/x"},
		{name: "REDIS_URL", value: "http://:" + secret + "@redis"},
		{name: "STORAGE_URL", value: "ftp://key:" + secret + "@files"},
		{name: "STORAGE_URL", value: "s3://media?secret=" + secret},
		{name: "STORAGE_DELIVERY", value: "redirect"},
		{name: "MEDIA_URL", value: "https://user:" + secret + "@cdn.example"},
		{name: "AWS_SECRET_ACCESS_KEY", value: secret},
		{name: "SMTP_URL", value: "mail://user:" + secret + "@mail"},
		{name: "MAIL_FROM", value: "nobody"},
		{name: "MASTER_KEY", value: secret},
		{name: "MASTER_KEY", value: "", others: []option{set("APP_ENV", "production")}},
		{name: "ADMIN_EMAIL", value: "nobody"},
		{name: "ADMIN_PASSWORD", value: "S3cret"},
		{name: "PLATFORM_FEE_PCT", value: "2,5"},
		{name: "PROCESSOR_KEY", value: "pk_live_" + secret},
		{name: "PROCESSOR_KEY", value: "sk_sandbox_" + secret, others: []option{set("APP_ENV", "production")}},
		{name: "PROCESSOR_URL", value: "https://user:" + secret + "@api.example"},
		{name: "PROCESSOR_WEBHOOK_SECRET", value: secret + " "},
		{name: "PROCESSOR_CONNECT_SECRET", value: "two " + secret},
		{name: "WEBHOOK_RETRY_SCHEDULE", value: "5s,soon"},
		{name: "RATE_LIMIT_CALLER", value: "100 per second"},
		{name: "RATE_LIMIT_AUTH", value: "10"},
		{name: "TRUSTED_PROXIES", value: "my-proxy"},
		{name: "DATABSE_URL", value: "postgres://user:" + secret + "@db/x"},
		{name: "WEBHOOK_SCHEDULE", value: "5s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := prepare(t, append(c.others, set(c.name, c.value))...)
			p := launch(t, s.command(t))
			require.Equal(t, 2, p.wait(t), p.err.String())
			require.Empty(t, p.out.String())
			require.Equal(t, 1, strings.Count(p.err.String(), "\n"), p.err.String())
			require.True(t, strings.HasPrefix(p.err.String(), "showfloor: "), p.err.String())
			require.Contains(t, p.err.String(), c.name)
			require.NotContains(t, p.err.String(), "S3cret")
			made, err := os.ReadDir(s.dir)
			require.NoError(t, err)
			require.Empty(t, made)
		})
	}
}

func TestWrongStreamKey(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	for _, wrong := range []string{
		stream.IngestURL + "/" + stream.StreamKey + "x",
		stream.IngestURL + "/" + stream.ID,
		strings.Replace(target(stream), "/live/", "/elsewhere/", 1),
	} {
		p := encode(t, wrong)
		require.NotZero(t, p.wait(t))
		if strings.Contains(wrong, "/elsewhere/") {
			require.Contains(t, p.err.String(), "the application is unknown here, use /live")
		} else {
			require.Contains(t, p.err.String(), "this stream key is not known")
		}
	}
	require.Equal(t, api.StreamStatusIDLE, a.stream(stream.ID).Status)
}

// TestKeyRotationWhileLive checks that only the running broadcast continues
// with the old key.
func TestKeyRotationWhileLive(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	hooks := newSink(t, a, nil)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	first := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)

	rotated := created(a.RotateStreamKeyWithResponse(t.Context(), stream.ID))(t)
	require.NotEqual(t, stream.StreamKey, rotated.StreamKey)
	late := encode(t, target(stream))
	require.NotZero(t, late.wait(t))
	require.Contains(t, late.err.String(), "this stream key is not known")
	require.True(t, first.running())
	require.Equal(t, api.StreamStatusLIVE, a.stream(stream.ID).Status)

	first.terminate(t)
	a.await(stream.ID, api.StreamStatusENDED)
	second := encode(t, target(rotated))
	a.await(stream.ID, api.StreamStatusLIVE)
	second.terminate(t)
	a.await(stream.ID, api.StreamStatusENDED)
	require.Equal(t, append(startedAndEnded[:2:2], startedAndEnded...), hooks.await(stream.ID, 4))
}

func TestEncryptedIngest(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	cert, key := selfSigned(t)
	s := serve(t, onTestDatabase, set("RTMPS_ADDR", addr), set("RTMPS_CERT_FILE", cert), set("RTMPS_KEY_FILE", key))
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	require.Contains(t, s.out.String(), "RTMPS on port "+port)
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	u, err := url.Parse(target(stream))
	require.NoError(t, err)
	u.Scheme, u.Host = "rtmps", addr
	encoder := encode(t, u.String())
	a.await(stream.ID, api.StreamStatusLIVE)
	probe(t, a.playback(stream.ID).URL)
	encoder.terminate(t)
	a.await(stream.ID, api.StreamStatusENDED)
}

// selfSigned creates a certificate for this machine and returns its files.
func selfSigned(t testing.TB) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(name, kind string, content []byte) string {
		var b bytes.Buffer
		require.NoError(t, pem.Encode(&b, &pem.Block{Type: kind, Bytes: content}))
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", keyDER)
}
