package extractive

import "strings"

// isTask reports whether a sentence gives or takes a task.
func isTask(s sentence) bool {
	return has(s, fewWords, []string{
		"i will", "i'll", "i’ll", "we will", "we'll", "we’ll", "you will", "please", "can you", "could you", "needs to", "need to",
		"has to", "have to", "must", "to do", "todo", "action item", "next step", "by monday", "by tuesday", "by wednesday",
		"by thursday", "by friday", "by tomorrow", "by next", "take care of", "follow up",
		"ich werde", "wir werden", "ich mache", "ich schicke", "ich kümmere", "kümmert sich", "bitte", "kannst du", "könntest du",
		"muss noch", "müssen noch", "müssen wir", "bis montag", "bis dienstag", "bis mittwoch", "bis donnerstag", "bis freitag",
		"bis morgen", "nächster schritt", "aufgabe",
	}) && !strings.HasSuffix(s.text, "?")
}

// isDecision reports whether a sentence states a decision.
func isDecision(s sentence) bool {
	return has(s, fewWords, []string{
		"we decided", "we've decided", "we have decided", "it is decided", "it's decided", "decision", "we agreed", "we agree", "agreed that",
		"let's go with", "let’s go with", "we go with", "we are going with", "we're going with", "we will use", "we'll use", "approved",
		"wir haben beschlossen", "beschlossen", "entschieden", "entscheidung", "wir einigen uns", "wir nehmen", "einverstanden",
		"wir machen es so", "abgemacht", "genehmigt",
	}) && !strings.HasSuffix(s.text, "?")
}

// has reports whether a sentence of at least this many words contains one of the phrases, as whole words.
func has(s sentence, least int, phrases []string) bool {
	if len(s.words) < least {
		return false
	}
	text := " " + strings.Join(s.words, " ") + " "
	for _, p := range phrases {
		if strings.Contains(text, " "+p+" ") {
			return true
		}
	}
	return false
}
