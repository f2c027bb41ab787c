package event

import (
	"encoding/json"
	"fmt"

	"showfloor/gen"
)

// Sample returns sample data of an event, marked as a test.
func Sample(name string) (map[string]any, error) {
	var all map[string]map[string]any
	if err := json.Unmarshal(gen.Samples, &all); err != nil {
		return nil, fmt.Errorf("read the events' samples: %w", err)
	}
	data, ok := all[name]
	if !ok {
		return nil, fmt.Errorf("the event %s has no sample", name)
	}
	data["test"] = true
	return data, nil
}
