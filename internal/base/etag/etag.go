// Package etag makes validators of objects, so that a client doesn't overwrite a state that it hasn't read (RFC 9110, 8.8.3 and
// 13.1.1).
package etag

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strings"

	"showfloor/internal/base/problem"
)

// size is the number of bytes of a hash that a validator has.
const size = 15

// Of returns the strong validator of a state, with its quotes. Equal states have equal validators. The state is encoded as JSON.
func Of(state any) (string, error) {
	text, err := json.Marshal(state)
	if err != nil {
		return "", fmt.Errorf("encode a state for its ETag: %w", err)
	}
	sum := sha256.Sum256(text)
	return `"` + strings.ToLower(base32.HexEncoding.EncodeToString(sum[:size])) + `"`, nil
}

// Match is the value of If-Match: a list of validators, or *. Nil and an empty value match every state.
type Match *string

// Check returns the problem precondition_failed, with the state's validator, if none of the validators in match is the state's.
// Call it with the locked state, in the transaction of the change.
func Check(match Match, state any) error {
	if match == nil || strings.TrimSpace(*match) == "" {
		return nil
	}
	is, err := Of(state)
	if err != nil {
		return err
	}
	for one := range strings.SplitSeq(*match, ",") {
		if one = strings.TrimSpace(one); one == "*" || one == is {
			return nil
		}
	}
	p := problem.New(problem.PreconditionFailed, "precondition_failed", "the object has changed since you read it; read it again")
	p.ETag = is
	return p
}
