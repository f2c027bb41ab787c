// Command wordcheck finds phrases that engineers whose first language isn't English read twice. Run it in the repository:
//
//	go run ./cmd/wordcheck
//
// It reads the repository's files, except gen/ and the files that git ignores: comments, strings, test names and declared
// identifiers of Go files, and all text of others.
// For each phrase it prints file:line, the phrase and what to write instead. It exits with 1 if it finds one. rules.go has
// the phrases, and the places where one may stay.
package main

import (
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	found, err := run(context.Background(), ".", os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "wordcheck:", err)
		os.Exit(1)
	}
	if found > 0 {
		fmt.Fprintf(os.Stderr, "wordcheck: %d phrases; cmd/wordcheck/rules.go has the list\n", found)
		os.Exit(1)
	}
}

// run checks the repository in a folder and returns the number of phrases that it has written to out.
func run(ctx context.Context, dir string, out io.Writer) (int, error) {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = dir
	names, err := list.Output()
	if err != nil {
		return 0, fmt.Errorf("list the files: %w", err)
	}
	found := 0
	checks, kept := rules(), exceptions()
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if !readable(name) {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			continue // deleted and not committed yet, or a link to a file that is read anyway
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return found, err
		}
		all := check(name, data, checks, kept)
		if path.Ext(name) == ".go" {
			all = append(all, checkIdentifiers(name, data, kept)...)
		}
		for _, f := range all {
			fmt.Fprintf(out, "%s:%d: %q: %s\n", name, f.line, f.phrase, f.advice)
			found++
		}
	}
	return found, nil
}

// readable reports whether a file has text that people write: by its name, and outside of generated files.
func readable(name string) bool {
	if strings.HasPrefix(name, "gen/") || strings.HasPrefix(name, "cmd/wordcheck/") || path.Base(name) == "package-lock.json" {
		return false
	}
	switch path.Ext(name) {
	case ".go", ".ts", ".tsx", ".js", ".mjs", ".html", ".css", ".md", ".yaml", ".yml", ".sql", ".sh":
		return true
	case "":
		return path.Base(name) == "Makefile" || strings.HasPrefix(name, "scripts/") || strings.HasPrefix(name, ".ci/")
	}
	return false
}

// finding is a phrase at a line.
type finding struct {
	line           int
	phrase, advice string
}

// check returns the phrases of a file in the order of its lines.
func check(name string, data []byte, checks []rule, kept []exception) []finding {
	lines := strings.Split(string(data), "\n")
	text := string(data)
	if path.Ext(name) == ".go" {
		text = prose(data)
	}
	var found []finding
	for _, r := range checks {
		for _, at := range r.find.FindAllStringIndex(text, -1) {
			from := at[0] + len(text[at[0]:at[1]]) - len(strings.TrimLeft(text[at[0]:at[1]], ".:;!?/#-*\"` \t\n"))
			if r.unless != nil && r.unless.MatchString(text[from:]) {
				continue
			}
			line := strings.Count(text[:from], "\n")
			if excepted(kept, name, lines[line]) {
				continue
			}
			found = append(found, finding{line + 1, breaks().ReplaceAllString(text[from:at[1]], " "), r.advice})
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int { return a.line - b.line })
	return found
}

// breaks matches a line break within a comment.
func breaks() *regexp.Regexp { return regexp.MustCompile(`\s*\n\s*(?://|#|--|\*)?\s*`) }

// prose returns a Go file in which only comments, strings with a space and the words of test names are left. All else
// is masked by a character that is in no phrase; the lines stay.
func prose(data []byte) string {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(data))
	var s scanner.Scanner
	s.Init(file, data, nil, scanner.ScanComments)
	var out strings.Builder
	rest := 0
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			return out.String() + masked(data[rest:])
		}
		at, test := file.Offset(pos), kind == token.IDENT && isTest(literal)
		if kind != token.COMMENT && !test && (kind != token.STRING || !strings.Contains(literal, " ")) {
			continue
		}
		out.WriteString(masked(data[rest:at]))
		rest = at + len(literal)
		if test {
			literal = words(literal)
		}
		out.WriteString(literal)
	}
}

// masked replaces all but white space.
func masked(data []byte) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\n' {
			return r
		}
		return '\x1a'
	}, string(data))
}

// isTest reports whether an identifier names a test, benchmark or fuzz target.
func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Benchmark") || strings.HasPrefix(name, "Fuzz")
}

// words separates the words of a name: TestPagesLoad becomes "Test Pages Load".
func words(name string) string {
	return strings.TrimSpace(regexp.MustCompile(`[A-Z]`).ReplaceAllString(name, " $0"))
}
