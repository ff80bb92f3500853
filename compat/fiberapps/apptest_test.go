package fiberapps

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	fiberv2 "github.com/gofiber/fiber/v2"
	adaptorv2 "github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"
)

// hold waits for up to 50 ms for ctx to end, and returns the status that says whether it has.
func hold(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return http.StatusInternalServerError
	case <-time.After(50 * time.Millisecond):
		return http.StatusOK
	}
}

// bounded is a net/http handler that returns 503 if its context ends, like metrics endpoints with a time limit.
func bounded() http.Handler {
	return http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(hold(r.Context()))
	}), 5*time.Second, "too late")
}

// App.Test passes a connection that contains only the request and then ends. That must not end the handler's context.
func TestAppTestKeepsContext(t *testing.T) {
	for version, answer := range map[string]func(*http.Request) (*http.Response, error){
		"v2": func(req *http.Request) (*http.Response, error) {
			app := fiberv2.New()
			app.Get("/", func(c *fiberv2.Ctx) error { return c.SendStatus(hold(c.Context())) })
			app.Post("/", func(c *fiberv2.Ctx) error { return c.SendStatus(hold(c.Context())) })
			app.Get("/bounded", adaptorv2.HTTPHandler(bounded()))
			return app.Test(req, -1)
		},
		"v3": func(req *http.Request) (*http.Response, error) {
			app := fiber.New()
			app.Get("/", func(c fiber.Ctx) error { return c.SendStatus(hold(c.RequestCtx())) })
			app.Post("/", func(c fiber.Ctx) error { return c.SendStatus(hold(c.RequestCtx())) })
			app.Get("/bounded", adaptor.HTTPHandler(bounded()))
			return app.Test(req, fiber.TestConfig{Timeout: 0})
		},
	} {
		for _, target := range []string{"GET /", "POST /", "GET /bounded"} {
			t.Run(version+" "+target, func(t *testing.T) {
				method, path, _ := strings.Cut(target, " ")
				req := httptest.NewRequest(method, path, nil)
				resp, err := answer(req)
				if err != nil {
					t.Fatal(err)
				}
				if resp.Body.Close(); resp.StatusCode != http.StatusOK {
					t.Errorf("status %d", resp.StatusCode)
				}
			})
		}
	}
}
