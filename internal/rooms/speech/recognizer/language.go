package recognizer

import (
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// codes are those of the languages that models of the Whisper family know.
const codes = "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml cy sk " +
	"te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am yi lo uz fo " +
	"ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba su"

// tagOf returns the tag of a language. Some servers name it by its code, and others in English; the tag is empty for other names.
func tagOf(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	for code := range strings.FieldsSeq(codes) {
		if name == code || name == strings.ToLower(display.English.Languages().Name(language.Make(code))) {
			return code
		}
	}
	if tag, err := language.Parse(name); err == nil && tag != language.Und {
		return tag.String()
	}
	return ""
}
