package browsertest

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { Main(m) }

// TestMissingElementEndsTheWait: an action on an element that doesn't exist fails after the time limit, and the tab is usable
// afterwards, for the screenshot.
func TestMissingElementEndsTheWait(t *testing.T) {
	t.Parallel()
	ctx := New(t)
	Run(t, ctx, chromedp.Navigate("data:text/html,<h1>page</h1>"))
	err := run(ctx, 200*time.Millisecond, chromedp.Click("#missing"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "not done after 200ms, as if an element were missing")
	require.Equal(t, "page", Value[string](t, ctx, "document.querySelector('h1').textContent"))
	require.NoError(t, run(ctx, waitTimeout, chromedp.Click("h1")))
}
