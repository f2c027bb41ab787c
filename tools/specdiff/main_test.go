package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const document = `openapi: 3.0.3
info: {title: Things, version: 1.0.0}
paths:
  /v1/things:
    get:
      operationId: listThings
      responses:
        '200':
          description: Things.
          content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}}}
components:
  schemas:
    Thing:
      type: object
      required: [id]
      properties:
        id: {type: string}
        colour: {type: string, enum: [red]}
`

// Changed versions of the document.
func harmless() string { return replace("enum: [red]", "enum: [red, blue]") }
func breaking() string { return replace("        id: {type: string}", "        id: {type: integer}") }
func renamed() string  { return replace("listThings", "getThings") }
func lost() string     { return replace("        colour: {type: string, enum: [red]}\n", "") }

func replace(old, text string) string { return strings.Replace(document, old, text, 1) }

// clone is a temporary repository with a document.
type clone struct{ folder string }

func begin(t *testing.T) clone {
	t.Helper()
	c := clone{t.TempDir()}
	c.git(t, "init", "-q", "-b", "main")
	return c
}

func (c clone) git(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = c.folder
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

func (c clone) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c clone) commit(t *testing.T, text string) {
	t.Helper()
	c.write(t, "api.yaml", text)
	c.git(t, "add", "-A")
	c.git(t, "commit", "-q", "--allow-empty", "-m", "change")
}

// check runs the command. It must print wantOut, and pass if wantErr is empty, else fail with it.
func (c clone) check(t *testing.T, wantErr string, wantOut ...string) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), c.folder, []string{"api.yaml", "breaking.yaml"}, &out)
	switch {
	case wantErr == "" && err != nil:
		t.Fatalf("%v: %s", err, out.String())
	case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
		t.Fatalf("wanted %q, got %v: %s", wantErr, err, out.String())
	}
	for _, part := range wantOut {
		if !strings.Contains(out.String(), part) {
			t.Fatalf("wanted %q in %q", part, out.String())
		}
	}
	if len(wantOut) == 0 && out.Len() > 0 {
		t.Fatalf("wanted silence, got %q", out.String())
	}
}

const breaks = "these changes break clients"

func TestOnABranch(t *testing.T) {
	t.Parallel()
	c := begin(t)
	c.commit(t, document)
	c.commit(t, document)
	c.git(t, "checkout", "-q", "-b", "work")
	c.check(t, "")
	c.commit(t, harmless())
	c.check(t, "")
	c.commit(t, breaking())
	c.commit(t, breaking()) // the base is the commit where the branch began, not the commit before
	c.check(t, breaks, "GET /v1/things: ", "[response-property-type-changed]")
	c.write(t, "api.yaml", document)
	c.check(t, "") // uncommitted changes count
	// A later commit on main is not a change of this branch.
	c.git(t, "checkout", "-q", "-f", "main")
	c.commit(t, renamed())
	c.git(t, "checkout", "-q", "work")
	c.write(t, "api.yaml", document)
	c.check(t, "")
}

func TestOnMain(t *testing.T) {
	t.Parallel()
	c := begin(t)
	c.commit(t, document)
	c.check(t, "", "the commit before main's tip is not here")
	c.write(t, "api.yaml", breaking())
	c.check(t, breaks, "the commit before", "[response-property-type-changed]")
	c.write(t, "api.yaml", document)
	c.commit(t, renamed())
	c.check(t, breaks, "[api-operation-id-removed]")
	c.commit(t, renamed())
	c.check(t, "")
	c.write(t, "api.yaml", lost())
	c.check(t, breaks, "[api-operation-id-removed]", "[response-optional-property-removed]")
}

func TestWithARemote(t *testing.T) {
	t.Parallel()
	origin := begin(t)
	origin.commit(t, document)
	c := clone{t.TempDir()}
	c.git(t, "clone", "-q", origin.folder, ".")
	c.commit(t, breaking())
	c.commit(t, breaking()) // main, two commits ahead of what was pushed
	c.check(t, breaks, "[response-property-type-changed]")
}

func TestWithoutABase(t *testing.T) {
	t.Parallel()
	c := begin(t)
	c.write(t, "api.yaml", document)
	c.check(t, "", "there is no commit yet")
	c.commit(t, document)
	c.git(t, "branch", "-q", "-m", "other")
	c.check(t, "", "there is no branch main")
	c.git(t, "branch", "-q", "main")
	c.git(t, "checkout", "-q", "--orphan", "alone")
	c.commit(t, breaking())
	c.check(t, "", "no common commit here")

	origin := begin(t)
	origin.commit(t, document)
	origin.commit(t, breaking())
	shallow := clone{t.TempDir()}
	shallow.git(t, "clone", "-q", "--depth=1", "file://"+origin.folder, ".")
	shallow.check(t, "", "the commit before main's tip is not here")

	fresh := begin(t) // the document is new
	fresh.git(t, "commit", "-q", "--allow-empty", "-m", "first")
	fresh.git(t, "commit", "-q", "--allow-empty", "-m", "second")
	fresh.write(t, "api.yaml", document)
	fresh.check(t, "")
}

func TestAllowedChanges(t *testing.T) {
	t.Parallel()
	c := begin(t)
	c.commit(t, document)
	c.commit(t, document)
	c.git(t, "checkout", "-q", "-b", "work")
	c.write(t, "api.yaml", breaking())
	const entry = "- id: response-property-type-changed\n  date: 2026-11-21\n  reason: ids become numbers\n"
	for list, wantErr := range map[string]string{
		"# none\n": breaks,
		entry:      "",
		entry + "  operations: [GET /v1/things]\n  contains: integer\n": "",
		entry + "  operations: [GET /v1/others]\n":                      breaks,
		entry + "  contains: colour\n":                                  breaks,
		strings.Replace(entry, "response", "request", 1):                breaks,
		strings.Replace(entry, "ids become numbers", "", 1):             "needs id, reason and a date",
		strings.Replace(entry, "2026-11-21", "some day", 1):             "needs id, reason and a date",
		entry + "  until: 2027\n":                                       "until",
	} {
		c.write(t, "breaking.yaml", list)
		var printed []string
		if wantErr == breaks {
			printed = []string{"response-property-type-changed"}
		}
		c.check(t, wantErr, printed...)
	}
}
