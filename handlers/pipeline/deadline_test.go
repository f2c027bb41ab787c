package pipeline

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
)

// timed serves handler as an operation of the document, getMe, through the
// deadline layer.
func timed(handler echo.HandlerFunc) (serve func(method string, body io.Reader) *httptest.ResponseRecorder, unfinished *Unfinished) {
	const path = "/v1/me"
	unfinished = new(Unfinished)
	c := &contract{operations: map[string]*operation{"POST " + path: {timeout: defaultRequestTime}, "GET " + path: {timeout: defaultRequestTime}}}
	e := echo.New()
	e.HTTPErrorHandler = problems{slog.New(slog.DiscardHandler), newFailureLog(slog.New(slog.DiscardHandler))}.handle
	e.Use(deadline{c, noSockets{}, 1, unfinished}.layer)
	e.POST(path, handler)
	e.GET(path, handler)
	return func(method string, body io.Reader) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		e.ServeHTTP(answer, httptest.NewRequest(method, path, body))
		return answer
	}, unfinished
}

// noSockets is the WebSockets of a server without any.
type noSockets struct{}

func (noSockets) Wants(string, *http.Request) bool                         { return false }
func (noSockets) Serve(http.ResponseWriter, *http.Request, *Visitor) error { return nil }

func TestContextEndsWithTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		serve, unfinished := timed(func(e echo.Context) error {
			<-e.Request().Context().Done()
			return e.Request().Context().Err()
		})
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			began := time.Now()
			answer := serve(method, nil)
			require.Equal(t, defaultRequestTime, time.Since(began), method)
			require.Equal(t, http.StatusServiceUnavailable, answer.Code, method)
			require.Equal(t, "5", answer.Header().Get("Retry-After"), method)
			require.Contains(t, answer.Body.String(), `"code":"timeout"`, method)
			require.Zero(t, unfinished.Count(), method)
		}
	})
}

func TestHandlerWithoutRegardToItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		serve, unfinished := timed(func(e echo.Context) error {
			e.Response().Header().Set("X-Late", "yes")
			<-goOn
			return e.String(http.StatusOK, "done")
		})
		began := time.Now()
		answer := serve(http.MethodPost, nil)
		require.Equal(t, defaultRequestTime+lateTime, time.Since(began))
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.EqualValues(t, 1, unfinished.Count())
		close(goOn)
		synctest.Wait()
		require.Zero(t, unfinished.Count())
		require.NotContains(t, answer.Body.String(), "done")
		require.Empty(t, answer.Header().Get("X-Late"))
	})
}

func TestTooManyUnfinishedHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		serve, unfinished := timed(func(echo.Context) error {
			<-goOn
			return nil
		})
		for range maxUnfinished {
			go serve(http.MethodPost, nil)
		}
		time.Sleep(defaultRequestTime + lateTime) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		require.EqualValues(t, maxUnfinished, unfinished.Count())
		began := time.Now()
		require.Contains(t, serve(http.MethodPost, nil).Body.String(), `"code":"unavailable"`)
		require.Equal(t, began, time.Now(), "at once")
		close(goOn)
		synctest.Wait()
		require.Equal(t, http.StatusOK, serve(http.MethodPost, nil).Code)
	})
}

// slowBody takes half a minute to arrive.
type slowBody struct{ pieces int }

func (b *slowBody) Read(p []byte) (int, error) {
	if b.pieces == 30 {
		return 0, io.EOF
	}
	b.pieces++
	time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
	return copy(p, "x"), nil
}

func TestTimeInWhichTheBodyArrivesDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var work time.Duration
		serve, _ := timed(func(e echo.Context) error {
			body, err := io.ReadAll(e.Request().Body)
			if err != nil || len(body) != 30 {
				return err
			}
			select {
			case <-time.After(work):
				return e.String(http.StatusOK, "done")
			case <-e.Request().Context().Done():
				return context.Cause(e.Request().Context())
			}
		})
		work = defaultRequestTime - time.Millisecond
		require.Equal(t, http.StatusOK, serve(http.MethodPost, &slowBody{}).Code)
		work = defaultRequestTime + time.Millisecond
		began := time.Now()
		require.Equal(t, http.StatusServiceUnavailable, serve(http.MethodPost, &slowBody{}).Code)
		require.Equal(t, 30*time.Second+defaultRequestTime, time.Since(began))
	})
}

func TestPanicsReachTheServer(t *testing.T) {
	t.Parallel()
	serve, _ := timed(func(echo.Context) error { panic(http.ErrAbortHandler) })
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { serve(http.MethodPost, nil) })
}
