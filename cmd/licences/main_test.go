package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const mit = "Permission is hereby granted, free of\ncharge, to any person"

// software writes files into a folder of their own.
func software(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestEqualTextsAreWrittenOnce(t *testing.T) {
	t.Parallel()
	noticed := software(t, map[string]string{"NOTICE": "By Ada.\n", "LICENSE.txt": "  Apache License\n   Version 2.0\r\n", "main.go": "package main"})
	var out bytes.Buffer
	require.NoError(t, write(&out, []part{
		{"b", "v2", software(t, map[string]string{"LICENSE": mit})}, {"c", "v1", noticed}, {"a", "v1", software(t, map[string]string{"COPYING": mit + "\n"})},
	}))
	line := "\n================================================================================\n"
	require.Equal(t, introduction+"a v1: MIT\nb v2: MIT\nc v1: Apache-2.0\n"+
		line+"a\nb\n\n"+mit+"\n"+line+"c\n\nApache License\n   Version 2.0\n\nBy Ada.\n", out.String())
}

func TestPartsWithoutAKnownLicenceAreRefused(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"x: has no licence file": {"README": mit},
		"x: has a licence that cmd/licences/kinds.go doesn't list; read it before you add it": {"LICENSE": "All rights reserved."},
	} {
		require.EqualError(t, write(&bytes.Buffer{}, []part{{"x", "v1", software(t, files)}}), want)
	}
}

func TestNPMPackages(t *testing.T) {
	t.Parallel()
	dir := software(t, map[string]string{"package.json": `{"name": "@a/b", "version": "1.2.3"}`})
	list := software(t, map[string]string{"list": `["` + dir + `"]`, "empty": "[]"})
	parts, err := npmPackages(filepath.Join(list, "list"))
	require.NoError(t, err)
	require.Equal(t, []part{{"npm @a/b", "1.2.3", dir}}, parts)
	_, err = npmPackages(filepath.Join(list, "empty"))
	require.EqualError(t, err, "the list of npm packages is empty")
}
