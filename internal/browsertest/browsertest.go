// Package browsertest drives a real headless Chromium from Go tests.
//
//	ctx := browsertest.New(t)
//	log := browsertest.Watch(t, ctx)
//	browsertest.Run(t, ctx, chromedp.Navigate(server.URL))
//	browsertest.WaitFor(t, ctx, `document.querySelector("video").currentTime > 1`)
//	browsertest.Screenshot(t, ctx, "player")
//	require.Empty(t, log.Complaints())
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

const (
	startTimeout = 30 * time.Second
	waitTimeout  = 30 * time.Second
	pollEvery    = 50 * time.Millisecond
	windowWidth  = 1280
	windowHeight = 800
	dirMode      = 0o755
	fileMode     = 0o644
)

// Devices gives the browser a camera that shows a moving picture and a microphone
// that beeps, both allowed without a question, and lets sound play without a click.
func Devices(o []chromedp.ExecAllocatorOption) []chromedp.ExecAllocatorOption {
	return append(o,
		chromedp.Flag("use-fake-device-for-media-stream", true),
		chromedp.Flag("use-fake-ui-for-media-stream", true),
		chromedp.Flag("allow-loopback-in-peer-connection", true),
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"),
		// Chromedp's own, and that own addresses hide behind mDNS names, which nobody answers here.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,WebRtcHideLocalIpsWithMdns"),
	)
}

// New starts a browser with a fresh profile and returns the context of its
// one tab, for chromedp.Run. The browser ends with the test. It reaches
// 127.0.0.1 and no other host.
func New(t testing.TB, options ...func([]chromedp.ExecAllocatorOption) []chromedp.ExecAllocatorOption) context.Context {
	t.Helper()

	all := flags(browser(t))
	for _, option := range options {
		all = option(all)
	}
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), all...)
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(t.Logf))
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("close browser: %v", err)
		}
		cancel()
		cancelAlloc()
	})
	Run(t, ctx)

	return ctx
}

// flags are those that work as root and in a closed network, where background
// requests would fail for minutes.
func flags(path string) []chromedp.ExecAllocatorOption {
	return append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
		chromedp.WSURLReadTimeout(startTimeout),
		chromedp.WindowSize(windowWidth, windowHeight),
	)
}

// browser finds the installed Chromium; CHROMIUM_BIN overrides.
func browser(t testing.TB) string {
	t.Helper()

	for _, name := range []string{os.Getenv("CHROMIUM_BIN"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium found: run `make setup-test`, or name one in CHROMIUM_BIN")

	return ""
}

// Run does the actions in order and fails the test when one fails.
func Run(t testing.TB, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()

	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatalf("browser: %v", err)
	}
}

// WaitFor returns when the JavaScript expression is true, and fails the test
// when it is still not after 30 s.
func WaitFor(t testing.TB, ctx context.Context, expression string) {
	t.Helper()

	err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](expression,
		chromedp.WithPollingInterval(pollEvery), chromedp.WithPollingTimeout(waitTimeout)))
	if err != nil {
		Screenshot(t, ctx, filepath.Join("failed", t.Name()))
		t.Fatalf("page: waiting for %s: %v", expression, err)
	}
}

// Value evaluates a JavaScript expression and returns its value.
func Value[T any](t testing.TB, ctx context.Context, expression string) T {
	t.Helper()

	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("page: %s: %v", expression, err)
	}

	return value
}

// Look sets the size of the page in CSS pixels and its colour scheme.
func Look(t testing.TB, ctx context.Context, width, height int64, dark bool) {
	t.Helper()

	scheme := "light"
	if dark {
		scheme = "dark"
	}
	Run(t, ctx, chromedp.EmulateViewport(width, height))

	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		t.Fatalf("browser: set colour scheme: %v", err)
	}
}

// Screenshot writes what the tab shows to build/screenshots/<name>.png in the
// module's root folder, for people to look at.
func Screenshot(t testing.TB, ctx context.Context, name string) {
	t.Helper()

	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Errorf("screenshot %s: %v", name, err)

		return
	}

	path := filepath.Join(moduleRoot(t), "build", "screenshots", name+".png")
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		t.Fatalf("screenshot folder: %v", err)
	}
	if err := os.WriteFile(path, png, fileMode); err != nil {
		t.Fatalf("write screenshot: %v", err)
	}
}

// moduleRoot walks up from the test's folder to the one that holds go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()

	folder, err := os.Getwd()
	if err != nil {
		t.Fatalf("working folder: %v", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			t.Fatal("no go.mod above the test's folder")
		}
		folder = parent
	}
}
