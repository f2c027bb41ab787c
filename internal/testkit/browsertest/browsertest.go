// Package browsertest drives a real headless Chromium from Go tests.
//
//	func TestMain(m *testing.M) { browsertest.Main(m) }
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
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"showfloor/internal/testkit/moduleroot"
)

const (
	startTimeout = time.Minute
	waitTimeout  = 2 * time.Minute
	pollEvery    = 50 * time.Millisecond
	windowWidth  = 1280
	windowHeight = 800
	dirMode      = 0o755
	fileMode     = 0o644
)

// chromiums are the browsers of this process: one without devices and one with them. A test binary
// has no other place that its tests share.
//
//nolint:gochecknoglobals // see above
var chromiums struct {
	plain, devices chromium
}

// chromium is a running browser that the tests of a process share. Each test has a tab in a browser
// context of its own: with its own cookies, storage and cache.
type chromium struct {
	mu    sync.Mutex
	ctx   context.Context //nolint:containedctx // chromedp's handle of the browser
	close func()
}

// Main runs a package's tests, closes the browsers and exits.
func Main(m *testing.M) {
	code := m.Run()
	if err := Close(); err != nil {
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		code = max(code, 1)
	}
	os.Exit(code) //nolint:revive // TestMain calls this last
}

// Close closes the browsers that New and NewWithDevices have started. Call it after the tests, unless
// Main does. The browsers also end with this process.
func Close() error {
	return errors.Join(chromiums.plain.stop(), chromiums.devices.stop())
}

// New opens a tab with a fresh profile and returns its context, for chromedp.Run. The tab closes when
// the test ends. It reaches 127.0.0.1 and no other host. All tabs of New share one browser, which
// the first call starts.
func New(t testing.TB) context.Context {
	t.Helper()

	return chromiums.plain.open(t, nil)
}

// NewWithDevices does the same as New in a browser that has a camera with a moving picture and a
// microphone that beeps. Both are allowed without a question, and sound plays without a click.
func NewWithDevices(t testing.TB) context.Context {
	t.Helper()

	return chromiums.devices.open(t, []chromedp.ExecAllocatorOption{
		// Browsers without a graphics card encode and draw each picture with the processor.
		chromedp.Flag("use-fake-device-for-media-stream", "fps=10"),
		chromedp.Flag("use-fake-ui-for-media-stream", true),
		chromedp.Flag("allow-loopback-in-peer-connection", true),
		chromedp.Flag("autoplay-policy", "no-user-gesture-required"),
		// The browser announces its addresses instead of mDNS names, which nothing resolves here.
		chromedp.Flag("disable-features", unused+",WebRtcHideLocalIpsWithMdns"),
	})
}

// blockAll are the preferences of a browser whose user blocks all cookies.
const blockAll = `{"profile":{"default_content_setting_values":{"cookies":2}}}`

// NewWithoutStorage does the same as New in a browser whose user blocks all cookies. Then localStorage and sessionStorage throw a
// SecurityError, and nothing is stored in IndexedDB and caches. The browser belongs to this test alone.
func NewWithoutStorage(t testing.TB) context.Context {
	t.Helper()

	profile, err := os.MkdirTemp("", "showfloor-browser-")
	if err != nil {
		t.Fatalf("folder for a profile: %v", err)
	}
	own := &chromium{}
	t.Cleanup(func() {
		if err := errors.Join(own.stop(), os.RemoveAll(profile)); err != nil {
			t.Logf("browser without storage: %v", err)
		}
	})
	preferences := filepath.Join(profile, "Default", "Preferences")
	if err := os.MkdirAll(filepath.Dir(preferences), dirMode); err != nil {
		t.Fatalf("folder for preferences: %v", err)
	}
	if err := os.WriteFile(preferences, []byte(blockAll), fileMode); err != nil {
		t.Fatalf("write preferences: %v", err)
	}

	return own.open(t, []chromedp.ExecAllocatorOption{chromedp.UserDataDir(profile)})
}

// NewTab opens another tab of a tab's profile: with the same cookies and storage.
func NewTab(t testing.TB, beside context.Context) context.Context {
	t.Helper()

	ctx, cancel := chromedp.NewContext(beside)
	t.Cleanup(cancel)
	start(t, ctx)

	return ctx
}

// open opens a tab, and starts the browser if it doesn't run.
func (c *chromium) open(t testing.TB, flags []chromedp.ExecAllocatorOption) context.Context {
	t.Helper()

	ctx, cancel := chromedp.NewContext(c.start(t, flags), chromedp.WithNewBrowserContext())
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("close tab: %v", err)
		}
		cancel()
	})
	start(t, ctx)

	return ctx
}

// start returns the browser's context. If there is no browser, or it has crashed, start starts one.
func (c *chromium) start(t testing.TB, flags []chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.ctx != nil && c.ctx.Err() == nil {
		return c.ctx
	}

	// The browser outlives the test that starts it.
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(baseFlags(Executable(t)), flags...)...)
	ctx, cancel := chromedp.NewContext(alloc)
	start(t, ctx)
	c.ctx, c.close = ctx, func() { cancel(); cancelAlloc() }

	return ctx
}

// stop closes the browser, if it runs.
func (c *chromium) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.ctx == nil {
		return nil
	}
	err := chromedp.Cancel(c.ctx)
	c.close()
	c.ctx = nil
	if err != nil {
		return fmt.Errorf("close browser: %w", err)
	}

	return nil
}

// unused are features that are disabled: two by chromedp, and the two pages of the address bar's popup, which each window loads in
// processes of their own. They use a fifth of the processor time of a short test.
const unused = "Translate,BlinkGenPropertyTrees,WebUIOmniboxPopup,WebUIOmniboxAimPopup"

// baseFlags are those that work as root and in a closed network, where background
// requests would fail for minutes.
func baseFlags(path string) []chromedp.ExecAllocatorOption {
	return append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-features", unused),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
		chromedp.WSURLReadTimeout(startTimeout),
		chromedp.WindowSize(windowWidth, windowHeight),
	)
}

// Executable returns the path of the installed Chromium; CHROMIUM_BIN overrides.
func Executable(t testing.TB) string {
	t.Helper()

	for _, name := range []string{os.Getenv("CHROMIUM_BIN"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium found: run `make setup-test`, or name one in CHROMIUM_BIN")

	return ""
}

// start starts the browser, or opens the tab, of a new context. These end with the context of the first call, so it has no time limit.
func start(t testing.TB, ctx context.Context) {
	t.Helper()

	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start browser: %v", err)
	}
}

// Run does the actions in order and fails the test when one fails, or when they aren't done after a minute: chromedp waits for
// a missing element as long as its context lives.
func Run(t testing.TB, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()

	if err := run(ctx, waitTimeout, actions...); err != nil {
		screenshot(t, ctx, filepath.Join("failed", t.Name()))
		t.Fatalf("browser: %v", err)
	}
}

func run(ctx context.Context, limit time.Duration, actions ...chromedp.Action[chromedp.Void]) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := chromedp.Do(limited, actions...)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("not done after %s, as if an element were missing or covered: %w", limit, err)
	}

	return err
}

// WaitFor returns when the JavaScript expression is true, and fails the test
// when it is still not after a minute.
func WaitFor(t testing.TB, ctx context.Context, expression string) {
	t.Helper()

	err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](expression,
		chromedp.WithPollingInterval(pollEvery), chromedp.WithPollingTimeout(waitTimeout)))
	if err != nil {
		screenshot(t, ctx, filepath.Join("failed", t.Name()))
		t.Fatalf("page: waiting for %s: %v", expression, err)
	}
}

// Value evaluates a JavaScript expression and returns its value.
func Value[T any](t testing.TB, ctx context.Context, expression string) T {
	t.Helper()

	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
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

// Pictures reports whether this run makes screenshots: SHOWFLOOR_SCREENSHOTS is set. They take half of the time of some tests.
func Pictures() bool { return os.Getenv("SHOWFLOOR_SCREENSHOTS") != "" }

// Screenshot writes the shown page to build/screenshots/<name>.png in the module's root folder, for people to look at, if Pictures.
func Screenshot(t testing.TB, ctx context.Context, name string) {
	t.Helper()

	if Pictures() {
		screenshot(t, ctx, name)
	}
}

func screenshot(t testing.TB, ctx context.Context, name string) {
	t.Helper()

	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Errorf("screenshot %s: %v", name, err)

		return
	}

	path := moduleroot.Path(t, "build", "screenshots", name+".png")
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		t.Fatalf("screenshot folder: %v", err)
	}
	if err := os.WriteFile(path, png, fileMode); err != nil {
		t.Fatalf("write screenshot: %v", err)
	}
}
