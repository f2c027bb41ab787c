package embedded

import (
	"strings"
	"testing"
)

func TestARunningServerIsFound(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	if _, err := Running(dir); err == nil || !strings.Contains(err.Error(), "no database runs") {
		t.Fatalf("%v", err)
	}
	s := mustStart(t, Options{Dir: dir, Fast: true})
	found, err := Running(dir)
	if err != nil {
		t.Fatal(err)
	}
	if found != s.ConnString() {
		t.Fatalf("%s, want %s", found, s.ConnString())
	}
	mustStop(t, s)
	if _, err := Running(dir); err == nil {
		t.Fatal("it is stopped")
	}
}

// TestARunningServerIsFoundElsewhere checks that Running finds a server whose
// socket or whole database is not in the data folder.
func TestARunningServerIsFoundElsewhere(t *testing.T) {
	needRoot(t)
	t.Parallel()
	dir, _ := closedDir(t)
	s := mustStart(t, Options{Dir: dir, Fast: true, Log: quiet()})
	found, err := Running(dir)
	if err != nil {
		t.Fatal(err)
	}
	if found != s.ConnString() {
		t.Fatalf("%s, want %s", found, s.ConnString())
	}
	mustStop(t, s)
}
