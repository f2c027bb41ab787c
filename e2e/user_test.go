package e2e

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// TestUnprivilegedUser serves a broadcast as an account that owns only its data folder.
func TestUnprivilegedUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("all the other tests run as an unprivileged user already")
	}
	unprivileged, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.Atoi(unprivileged.Uid)
	require.NoError(t, err)
	gid, err := strconv.Atoi(unprivileged.Gid)
	require.NoError(t, err)

	s := prepare(t)
	// The binary may be in a folder that only root can enter.
	program := filepath.Join(dataDir(t), "showfloor")
	content, err := os.ReadFile(binary(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, content, 0o755))
	home := dataDir(t)
	for _, folder := range []string{s.dir, home} {
		require.NoError(t, os.Chown(folder, uid, gid))
	}
	s.settings["HOME"] = home
	s.as = func(*exec.Cmd) *exec.Cmd {
		return exec.Command("setpriv", "--reuid="+unprivileged.Uid, "--regid="+unprivileged.Gid, "--clear-groups", program, "serve")
	}
	s.start(t)
	require.NotZero(t, s.postgres())
	a := signUp(t, s)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	probe(t, a.playback(stream.ID).URL)

	s.kill()
	encoder.wait(t)
	s.start(t)
	require.Equal(t, api.StreamStatusENDED, a.stream(stream.ID).Status)
	require.Zero(t, s.terminate(t))
	require.Zero(t, s.postgres())
}
