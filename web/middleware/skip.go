package middleware

import "github.com/gallop-http/gallop/web"

// Skip runs another middleware only for some requests:
//
//	app.Use(middleware.Skip{
//		When: func(c *web.Ctx) bool { return c.Is("multipart/form-data") },
//		Use:  middleware.Timeout{After: 2 * time.Second},
//	})
//
// To leave out middleware for some routes, prefer a group without the middleware. A function that compares paths can miss other
// spellings of a path, such as "/admin" and "//admin".
type Skip struct {
	// When reports whether to skip the middleware. When may be called concurrently. It must not be nil.
	When func(c *web.Ctx) bool

	// Use is the middleware. It must not be nil.
	Use web.Middleware
}

// CheckApp calls the method CheckApp of the middleware, if it has one.
func (s Skip) CheckApp(app *web.App) error {
	if checker, ok := s.Use.(web.AppChecker); ok {
		return checker.CheckApp(app)
	}
	return nil
}

// Handler returns the middleware. Handler panics if When or Use is nil.
func (s Skip) Handler() web.Handler {
	if s.When == nil || s.Use == nil {
		panic("middleware: Skip needs both When and Use")
	}
	run := s.Use.Handler()
	return func(c *web.Ctx) error {
		if s.When(c) {
			return c.Next()
		}
		return run(c)
	}
}
