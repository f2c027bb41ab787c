package push

import "strings"

// texts are the fixed texts of calls in one language.
type texts struct{ voiceCall, videoCall, missedVoice, missedVideo, testTitle, testBody string }

// textsFor returns the texts for a language tag (BCP 47): German for de, English for all others and for none.
func textsFor(locale *string) texts {
	language := ""
	if locale != nil {
		language, _, _ = strings.Cut(strings.ReplaceAll(strings.ToLower(*locale), "_", "-"), "-")
	}
	if language == "de" {
		return texts{
			"Eingehender Anruf", "Eingehender Videoanruf", "Verpasster Anruf", "Verpasster Videoanruf",
			"Testnachricht", "Die Zugangsdaten für Push-Nachrichten funktionieren.",
		}
	}
	return texts{
		"Incoming call", "Incoming video call", "Missed call", "Missed video call",
		"Test message", "The push credentials work.",
	}
}

// ringing returns the text of a call of a kind.
func (t texts) ringing(video bool) string {
	if video {
		return t.videoCall
	}
	return t.voiceCall
}

// missed returns the text of a call without an answer.
func (t texts) missed(video bool) string {
	if video {
		return t.missedVideo
	}
	return t.missedVoice
}
