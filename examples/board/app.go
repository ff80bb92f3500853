package main

import (
	"embed"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

//go:embed pages
var pages embed.FS

//go:embed assets
var assets embed.FS

// board is the program.
type board struct {
	app      *web.App
	health   middleware.Health
	sessions *middleware.Session[account]
	files    *os.Root // uploads
	notes    notes
	events   events
}

// The longest bodies, in bytes.
const (
	maxJSON = 16 << 10
	maxFile = 8 << 20
)

// How many requests a client may send in a minute, how often it may try to sign in, and how much a user may write.
const (
	requestsPerMinute = 600
	loginsPerMinute   = 10
	notesPerMinute    = 60
)

// newBoard returns a board with sessions in the store and uploads in the directory.
func newBoard(files string, store middleware.Store) (*board, error) {
	dir, err := os.OpenRoot(files)
	if err != nil {
		return nil, err
	}
	views, err := web.NewTemplates(web.TemplatesConfig{FS: pages})
	if err != nil {
		return nil, err
	}
	b := &board{sessions: newSessions(store), files: dir}
	server := &gallop.Server{StreamRequestBody: true, LameDuck: 100 * time.Millisecond}
	b.app = web.New(web.Config{ErrorHandler: answerError, Server: server, Views: views})
	b.app.Use(
		middleware.RequestID{},
		middleware.Logger{Skip: isQuiet},
		middleware.Recover{},
		middleware.SecureHeaders{},
		middleware.Limiter{Rates: []middleware.Rate{{Limit: requestsPerMinute, Window: time.Minute}}},
		b.sessions,
		middleware.CSRF{},
		middleware.Compress{},
		middleware.ETag{},
	)
	b.app.Get("/livez", b.health.Live)
	b.app.Get("/readyz", b.health.Ready)
	b.app.Get("/", b.showPage)
	b.app.Get("/assets/{file...}", middleware.Static{FS: assets, Root: "assets", CacheControl: "public, max-age=3600"}.Endpoint())
	b.app.Get("/files/{file...}", middleware.Static{Root: files, CacheControl: "private, no-cache"}.Endpoint())
	b.app.Get("/events", b.sendEvents) // outside the group: an event stream must not time out

	api := b.app.Group("/api", middleware.Timeout{After: 5 * time.Second})
	small := api.Group("", middleware.BodyLimit{Size: maxJSON})
	logins := middleware.Limiter{Rates: []middleware.Rate{{Limit: loginsPerMinute, Window: time.Minute}}}
	small.Post("/login", logins.Handler(), b.login)
	small.Post("/logout", b.logout)
	small.Get("/me", b.signedIn, func(c *web.Ctx) error { return c.JSON(user(c)) })
	small.Get("/notes", b.listNotes)
	writes := middleware.Limiter{Rates: []middleware.Rate{{Limit: notesPerMinute, Window: time.Minute}}, Key: userName}.Handler()
	small.Post("/notes", b.signedIn, writes, b.addNote)
	small.Delete("/notes/{id<int>}", b.signedIn, b.removeNote)

	// Uploads are outside the group, because they may take longer than 5 seconds. An upload that stalls is ended by the server, which
	// wants 240 bytes a second on average: see MinBodyRate.
	b.app.Post("/api/files", middleware.BodyLimit{Size: maxFile + 64<<10}.Handler(), b.signedIn, writes, b.upload)
	return b, nil
}

// isQuiet keeps the health checks of load balancers out of the log.
func isQuiet(c *web.Ctx) bool { return c.Path() == "/livez" || c.Path() == "/readyz" }

// answerError sends errors as JSON to clients that prefer it, and as plain text to all others.
func answerError(c *web.Ctx, err error) {
	web.DefaultErrorHandler(c, err) // sets status and text, and hides internal errors
	if c.Accepts("text/plain", "application/json") == "application/json" {
		status := c.RequestCtx().Response.StatusCode()
		text := string(c.RequestCtx().Response.Body())
		if err := c.JSON(map[string]any{"error": text, "status": status, "request": c.RequestID()}); err != nil {
			slog.Error("an error that cannot be shown", "error", err)
		}
	}
}

// showPage renders the page with all notes, so that it is readable without JavaScript.
func (b *board) showPage(c *web.Ctx) error {
	who, err := b.session(c)
	if err != nil {
		return err
	}
	nonce, err := middleware.Nonce(c) // without it, browsers do not run the script of the page
	if err != nil {
		return err
	}
	all := b.notes.all()
	slices.Reverse(all) // the newest note is on top
	return c.Render("pages/board", map[string]any{"User": who, "Notes": all, "Nonce": nonce})
}
