package apns

import (
	"encoding/json"
	"fmt"

	"showfloor/internal/outflow/push/provider"
)

// MaxPayload is the maximum size of a payload in bytes. VoIP pushes may have 5120, which is not used.
const MaxPayload = 4096

type aps struct {
	Alert            *alert `json:"alert,omitempty"`
	Sound            string `json:"sound,omitempty"`
	ContentAvailable int    `json:"content-available,omitempty"`
	Interruption     string `json:"interruption-level,omitempty"`
}

type alert struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
}

// Payload returns the JSON that a device receives: aps, and the app's data beside it.
func Payload(m provider.Message) ([]byte, error) {
	content := make(map[string]any, len(m.Data)+1)
	for key, value := range m.Data {
		content[key] = value
	}
	a := aps{Alert: &alert{Title: m.Title, Body: m.Body}, Sound: "default"}
	switch m.Kind {
	case provider.Alert:
	case provider.Call:
		a.Interruption = "time-sensitive"
	case provider.Silent:
		a = aps{ContentAvailable: 1}
	}
	content["aps"] = a
	payload, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	return payload, nil
}
