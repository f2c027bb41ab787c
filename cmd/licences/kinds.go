package main

import (
	"errors"
	"strings"
)

// kinds are the licences that the parts may have: the SPDX name and a passage of the text that no other one has. The first
// one whose passage is in a text counts.
var kinds = []struct{ name, passage string }{ //nolint:gochecknoglobals // a table
	{"Apache-2.0", "Apache License Version 2.0"},
	{"Apache-2.0", "Licensed under the Apache License, Version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
	{"ISC", "Permission to use, copy, modify, and distribute this software for any purpose with or without fee"},
	{"BSD-3-Clause", "nor the names of"},
	{"BSD-3-Clause", "nor the name of"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
}

// kindOf names the licence with this text. A text with several licences has the name of the first one in kinds.
func kindOf(text string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	for _, kind := range kinds {
		if strings.Contains(text, kind.passage) {
			return kind.name, nil
		}
	}
	return "", errors.New("has a licence that cmd/licences/kinds.go doesn't list; read it before you add it")
}
