package main

import (
	"path"
	"regexp"
	"strings"
)

// rule is one pattern of phrases, with the advice that is printed for it.
type rule struct {
	find   *regexp.Regexp
	unless *regexp.Regexp // matches the text from the phrase on if the phrase is allowed there; nil for never
	advice string
}

// rules returns all rules. A space in a pattern matches any white space, also a line break with the comment mark of the
// next line.
func rules() []rule {
	phrase := func(pattern, advice string) rule {
		return rule{find: regexp.MustCompile(`(?i)\b(?:` + spaced(pattern) + `)\b`), advice: advice}
	}
	// opening matches only at the beginning of a sentence, comment or string.
	opening := func(pattern, advice string) rule {
		const before = `(?:[.:;!?][ ]|["` + "`" + `]|(?://|(?:^|[^#])#|--|\*|\n\n)[ ]*)`
		return rule{find: regexp.MustCompile(before + `(?:` + spaced(pattern) + `)\b`), advice: advice}
	}
	except := func(r rule, following string) rule {
		r.unless = regexp.MustCompile(`(?i)^(?:` + spaced(following) + `)`)
		return r
	}
	return []rule{
		phrase("(?-i:(?:[Nn]o|[Ss]ome|[Aa]ny|[Ee]very)body)", "name the party: no client, another tenant, every participant"),
		phrase("whoever|whomever|whomsoever", "name the party: the client, user or caller that ..."),
		phrase("whatever|whichever", "any ..., every ..., regardless of ..., the first of ..."),
		phrase("strangers?", "unauthenticated client, another tenant, user without a role"),
		phrase("those (?:who|whom|whose)", "name the party: participants, clients, users that ..."),
		phrase("that which|what comes of|what (?:was|is) said|what is (?:meant|owed)", "use a noun: the result, the message, the debt"),
		phrase("(?:is|are|was|were|be|been|being) (?:told|heard of)", "receives ..., is notified of ..., gets a 4xx"),
		phrase("hears? (?:of|about|from)|heard (?:of|about)", "receives, is notified of"),
		phrase("unheard", "ignored, discarded, muted"),
		phrase("give up|gives up|gave up|given up|giving up", "stop retrying, abandon, cancel, release"),
		except(phrase("taken in|takes in|took in|taking in", "accept, store, receive"),
			"(?:taken|takes|took|taking) in (?:a|an|one|the|this|that|ascending|redis|total)"),
		phrase("let in|lets in|letting in", "admit, accept"),
		phrase("(?:sent|turned|turns|send|sends) away", "refuse, disconnect, reject"),
		phrase("thrown out|throws out", "kick, evict, disconnect"),
		phrase("seen (?:to|through)", "handle, complete"),
		phrase("in vain", "without success, ... failed"),
		phrase("for ever", "forever"),
		phrase("(?:until|since) when", "the time until which, the time since which"),
		phrase("for good", "permanently, finally"),
		phrase("(?:is|are|was|were) good for", "valid for, sufficient for"),
		phrase("(?:is|are|was|were|be) owed", "is due, is pending"),
		phrase("anew", "again"),
		phrase("forthwith|whence|thereof|lest|withal|hence", "a common word: at once, from which, of it, so that not, so"),
		phrase("no use to|of no use", "useless, has no effect"),
		opening("Who|Whom|Whose", "begin with the noun: the client that ..., participants that ..."),
		except(opening("What|Whatever [a-z]+", "begin with the noun: rows that ..., the data that ..."), `[^.]*\?`),
		{
			find:   regexp.MustCompile(`"(?:who|whom|whose|what) [a-z]`),
			advice: "begin with the noun: the viewer, the stored state",
		},
		phrase("(?-i:(?:Test|Benchmark|Fuzz)(?: (?:What|Who|Whom)|(?: [A-Za-z0-9]+)* (?:Says?|Tells?) (?:What|Who|Whom|Why)))",
			"subject and verb: TestAWaitingParticipantTakesNoSeat"),
		opening("(?:Never|Nor|Neither|Not|Only|Nowhere|Thus) (?:is|are|was|were|does|do|did|has|have|had|can|may|must)",
			"subject first: a hold is never released"),
		phrase("nor (?:is|are|was|were|does|do|did|has|have|had|can|may|must)", "a sentence of its own: subject, verb"),
	}
}

// identifierRule has the words that no declared identifier contains. They are separated by spaces and in lower case.
func identifierRule() rule {
	return rule{
		find:   regexp.MustCompile(`\b(?:tells?|told|strangers?|(?:any|no|some|every)body|standing|anew|vain|(?:gives?|gave|given) up)\b`),
		advice: "a noun or verb of the field: announce, report, notified, anonymous, permission, cancel",
	}
}

// spaced replaces each space of a pattern.
func spaced(pattern string) string {
	return strings.ReplaceAll(pattern, " ", `(?:[ \t]+|[ \t]*\n[ \t]*(?://|#|--|\*)?[ \t]*)`)
}

// exception is a place where a phrase stays.
type exception struct {
	files  string // a pattern of path.Match, on the path within the repository
	text   string // a part of the line
	reason string
}

// exceptions returns the list.
func exceptions() []exception {
	return []exception{
		{"*/*.go", "Hello everybody", "the text of a chat message"},
		{"internal/base/ratelimit/rate.go", "// What is the name", "the comment of a field What"},
		{"openapi/schemas/*.yaml", "Hello everybody", "the text of a chat message"},
		{"*/*_test.go", "nobody@example.test", "an e-mail address"},
		{"internal/base/postgres/embedded/*.go", "nobody", "a user of the operating system"},
		{"internal/tenancy/audit/audit_test.go", "actor_id = 'nobody'", "an id"},
		{"web/src/conference/*.ts", "body", "texts for people in a meeting, who expect the everyday word"},
		{"e2e/meeting_test.go", "body", "texts of the room page"},
	}
}

// excepted reports whether a phrase may stay.
func excepted(list []exception, file, line string) bool {
	for _, e := range list {
		if ok, _ := path.Match(e.files, file); ok && strings.Contains(line, e.text) {
			return true
		}
	}
	return false
}
