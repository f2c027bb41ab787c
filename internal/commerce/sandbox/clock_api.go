package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// clockPath is below the API's URL. The processor has no such call.
const clockPath = "/clock"

// clockAnswer is the answer to a request for the clock.
type clockAnswer struct {
	// AheadNanos is how far Billing's clock is ahead of Config.Now.
	AheadNanos time.Duration `json:"aheadNanos"`
}

func getClock(c *call) (any, error) {
	if err := c.done(); err != nil {
		return nil, err
	}
	return clockAnswer{c.offset}, nil
}

// Ahead returns how far Billing's clock of the sandbox with this API is ahead of the real time.
func Ahead(ctx context.Context, client *http.Client, apiURL, key string) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, apiURL+clockPath, http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("ask the sandbox for its clock: %w", err)
	}
	r.SetBasicAuth(key, "")
	resp, err := client.Do(r)
	if err != nil {
		return 0, fmt.Errorf("ask the sandbox for its clock: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("ask the sandbox for its clock: status %d", resp.StatusCode)
	}
	var a clockAnswer
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(&a); err != nil {
		return 0, fmt.Errorf("read the sandbox's clock: %w", err)
	}
	return a.AheadNanos, nil
}
