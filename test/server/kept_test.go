package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// A program can keep what it got for a request, and use it after the handler has returned, after the request has timed
// out, and after Shutdown. These tests keep one thing of each kind. TestEscapes in the root package lists the kinds, and
// fails if there is a kind without a case here.
//
//	keepCase   a kind of thing, with a handler that keeps one
//	keeper     one thing that was kept, and how to use it
//	keepRun    a server with many keepers, and the requests that must not notice them

// keptUntil says which event a program keeps a thing beyond.
type keptUntil string

const (
	afterHandler        keptUntil = "handler"        // the handler returns; the connection stays open
	afterConn           keptUntil = "connection"     // the handler returns, and then the connection is closed
	afterTimeoutHandler keptUntil = "TimeoutHandler" // TimeoutHandler leaves the handler behind
	afterTimeoutError   keptUntil = "TimeoutError"   // the handler calls TimeoutError and returns
)

var (
	afterReturn  = []keptUntil{afterHandler, afterConn}
	afterTimeout = []keptUntil{afterTimeoutHandler, afterTimeoutError}
	afterAll     = []keptUntil{afterHandler, afterConn, afterTimeoutHandler, afterTimeoutError}
)

// keepCase is a kind of thing that a program can keep.
type keepCase struct {
	name    string
	servers []string    // names of keepServers
	until   []keptUntil // the events beyond which a program can keep it without hurting itself
	request func(k *keeper) string

	// keep is called by the handler. It calls k.kept at once, or arranges that something else does.
	keep func(k *keeper, ctx *gallop.RequestCtx)

	echoes bool // the program gets the connection, and the client sends back what it receives
	mute   bool // if the connection is closed, there is no whole response before that
}

// keeper is a thing that was kept.
type keeper struct {
	*keepCase
	run    *keepRun
	until  keptUntil
	id     string // in the header and the URI of the request
	ready  chan struct{}
	client net.Conn
	hooks  keptHooks

	mu  sync.Mutex
	use func(i int) error // uses the thing for the ith time
}

// kept says how to use the thing.
func (k *keeper) kept(use func(i int) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.use != nil {
		k.run.t.Errorf("%s: kept twice", k)
	}
	k.use = use
	close(k.ready)
}

func (k *keeper) String() string { return k.name + " after the " + string(k.until) }

// useOnce uses the thing.
func (k *keeper) useOnce(i int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			k.run.t.Errorf("%s: panic: %v", k, v)
		}
	}()
	if err := k.use(i); err != nil {
		k.run.t.Errorf("%s: %v", k, err)
	}
}

// timedOut reports whether the RequestCtx was left to the handler.
func (k *keeper) timedOut() bool {
	return k.until == afterTimeoutHandler || k.until == afterTimeoutError
}

// keepServers are the settings with which the cases run.
var keepServers = map[string]func(r *keepRun, s *gallop.Server){
	"whole bodies":    func(*keepRun, *gallop.Server) {},
	"streamed bodies": func(_ *keepRun, s *gallop.Server) { s.StreamRequestBody = true },
	"hooks":           setKeptHooks,
}

var (
	streamedBodies = []string{"streamed bodies"}
	anyBodies      = []string{"whole bodies", "streamed bodies"}
	withHooks      = []string{"hooks"}
)

// keptHooks are what the hooks of a server got for the connection of a keeper.
type keptHooks struct {
	state, context net.Conn
	header         *gallop.RequestHeader
}

type keptKey struct{}

func setKeptHooks(r *keepRun, s *gallop.Server) {
	var mu sync.Mutex
	var lastState, lastContext net.Conn
	s.BaseContext = func(net.Listener) context.Context { return r.parent }
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		mu.Lock()
		defer mu.Unlock()
		lastContext = c
		return ctx
	}
	s.ConnState = func(c net.Conn, state gallop.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == gallop.StateNew {
			lastState = c
		}
	}
	s.HeaderReceived = func(h *gallop.RequestHeader) (rc gallop.RequestConfig) {
		if k := r.keeperOf(string(h.RequestURI())); k != nil {
			mu.Lock()
			defer mu.Unlock()
			k.hooks = keptHooks{state: lastState, context: lastContext, header: h}
		}
		return rc
	}
	s.ContinueHandler = func(h *gallop.RequestHeader) bool { return true }
	s.ErrorHandler = func(ctx *gallop.RequestCtx, err error) {
		if k := r.keeperOf(string(ctx.RequestURI())); k != nil && k.name == "context of the error handler" {
			k.keepContext(ctx)
		}
	}
	s.ExpectHandler = func(ctx *gallop.RequestCtx) int {
		if k := r.keeperOf(string(ctx.RequestURI())); k != nil && k.name == "context of the expect handler" {
			k.keepContext(ctx)
		}
		return gallop.StatusContinue
	}
	s.FormValueFunc = func(ctx *gallop.RequestCtx, key string) []byte {
		if k := r.keeperOf(string(ctx.RequestURI())); k != nil && k.name == "context of the form value function" {
			k.keepContext(ctx)
		}
		return nil
	}
}

// get returns a request without a body.
func (k *keeper) get() string { return k.head("GET") + "\r\n" }

func (k *keeper) head(method string) string {
	head := fmt.Sprintf("%s /keep/%s?own=%s HTTP/1.1\r\nHost: kept\r\nX-Own: %s\r\n", method, k.id, k.id, k.id)
	if k.until == afterConn {
		head += "Connection: close\r\n"
	}
	return head
}

// post returns a request with a body in two chunks and a trailer.
func (k *keeper) post() string {
	return k.head("POST") + "Transfer-Encoding: chunked\r\nTrailer: X-Last\r\n\r\n5\r\nkept \r\n" +
		hex(len(k.id)) + "\r\n" + k.id + "\r\n0\r\nX-Last: " + k.id + "\r\n\r\n"
}

// keepCases are the kinds of things that a program can keep. The table of TestEscapes names them.
var keepCases = []keepCase{
	{name: "context", servers: anyBodies, until: afterAll, keep: func(k *keeper, ctx *gallop.RequestCtx) { k.keepContext(ctx) }},
	{name: "derived context", servers: anyBodies, until: afterAll, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		type key struct{}
		derived, cancel := context.WithCancel(context.WithValue(ctx, key{}, k.id))
		called := make(chan struct{})
		context.AfterFunc(derived, func() { close(called) })
		done := derived.Done()
		k.kept(func(int) error {
			<-called
			<-done
			cancel()
			child, cancel := context.WithTimeout(derived, time.Hour)
			defer cancel()
			if derived.Err() == nil || context.Cause(child) == nil || derived.Value(key{}) != k.id {
				return fmt.Errorf("%v, %v, %v", derived.Err(), context.Cause(child), derived.Value(key{}))
			}
			return nil
		})
	}},
	{name: "stop of OnDisconnect", servers: anyBodies, until: afterAll, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		var called atomic.Int64
		var stops []func() bool
		for range 200 {
			stops = append(stops, ctx.OnDisconnect(func(error) { called.Add(1) }))
		}
		k.kept(func(i int) error {
			if stop := stops[i%len(stops)]; stop() && k.timedOut() {
				return errors.New("stopped a call that was made")
			}
			if n := called.Load(); n > 0 && !k.timedOut() {
				return fmt.Errorf("%d calls after the handler returned", n)
			}
			return nil
		})
	}},
	{name: "stop of AfterFunc", servers: anyBodies, until: afterAll, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		var called [200]atomic.Bool
		var stops []func() bool
		for i := range called {
			stops = append(stops, ctx.AfterFunc(func() { called[i].Store(true) }))
		}
		k.kept(func(i int) error {
			if i %= len(stops); stops[i]() && called[i].Load() {
				return errors.New("stopped a call that was made")
			}
			return nil
		})
	}},
	{name: "request body", servers: anyBodies, until: afterAll, request: (*keeper).askFirst, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		k.keepReader(ctx.RequestBodyStream())
	}},
	{name: "request body, read in part", servers: streamedBodies, until: afterAll, request: (*keeper).post,
		keep: func(k *keeper, ctx *gallop.RequestCtx) {
			stream := ctx.RequestBodyStream()
			_, _ = io.ReadFull(stream, make([]byte, 7))
			k.keepReader(stream)
		}},
	{name: "request body, echoed", servers: streamedBodies, until: afterReturn, request: (*keeper).post,
		keep: func(k *keeper, ctx *gallop.RequestCtx) {
			stream := ctx.RequestBodyStream()
			ctx.SetBodyStream(stream, -1)
			k.keepReader(stream)
		}},
	{name: "multipart reader", servers: streamedBodies, until: afterAll, request: func(k *keeper) string {
		part := "--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\nkept\r\n"
		body := part + part + part + "--b--\r\n"
		return k.head("POST") + fmt.Sprintf("Content-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		r, err := ctx.Request.MultipartReader()
		if err != nil {
			k.run.t.Error(err)
			return
		}
		part, err := r.NextPart()
		if err != nil {
			k.run.t.Error(err)
			return
		}
		k.kept(func(int) error {
			_, _ = io.Copy(io.Discard, part)
			for range part.Fields() {
			}
			for range 10 { // the first parts are in the reader's buffer
				if _, err = r.NextPart(); err != nil {
					return nil
				}
			}
			return errors.New("there is no end of parts")
		})
	}},
	{name: "response stream", servers: streamedBodies, until: afterAll, mute: true, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		stream, err := ctx.StreamResponse()
		if err != nil {
			k.run.t.Error(err)
		}
		_, _ = stream.WriteString("kept")
		_ = stream.Flush()
		k.kept(func(i int) error {
			_, err1 := stream.Write(make([]byte, i*100))
			_, err2 := stream.WriteString("late")
			_, err3 := stream.ReadFrom(strings.NewReader("late"))
			if err := stream.Flush(); err == nil || err1 == nil || err2 == nil || err3 == nil {
				return fmt.Errorf("%v, %v, %v, %v", err, err1, err2, err3)
			}
			return nil
		})
	}},
	{name: "writer of BodyWriterTo", servers: anyBodies, until: afterReturn, mute: true, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		ctx.SetBodyStream(keptWriterTo{k}, -1)
	}},
	{name: "writer of a StreamWriter that panics", servers: anyBodies, until: []keptUntil{afterConn}, mute: true,
		keep: func(k *keeper, ctx *gallop.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				_, _ = w.WriteString("kept")
				_ = w.Flush()
				k.keepWriter(w)
				panic("on purpose")
			})
		}},
	{name: "hijacked connection", servers: anyBodies, until: afterAll, echoes: true, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		ctx.HijackSetNoResponse(true)
		c, err := ctx.HijackConn()
		if err != nil {
			k.run.t.Error(err)
			return
		}
		k.keepHijacked(c)
	}},
	{name: "connection of a HijackHandler", servers: anyBodies, until: afterReturn, echoes: true, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		ctx.HijackSetNoResponse(true)
		ctx.Hijack(func(c net.Conn) {
			k.keepHijacked(c)
			<-k.run.over
		})
	}},
	{name: "accepted stream", servers: anyBodies, until: afterAll, echoes: true, request: func(k *keeper) string {
		return k.head("GET") + "Connection: upgrade\r\nUpgrade: kept\r\n\r\n"
	}, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		c, err := ctx.AcceptStream()
		if err != nil {
			k.run.t.Error(err)
			return
		}
		k.keepHijacked(c)
	}},
	{name: "connection", servers: anyBodies, until: afterAll, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		k.keepConn(ctx.Conn())
	}},
	{name: "logger", servers: anyBodies, until: afterTimeout, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		logger := ctx.Logger()
		k.kept(func(i int) error {
			logger.Printf("late %d", i)
			return nil
		})
	}},
	{name: "timeout response", servers: anyBodies, until: []keptUntil{afterTimeoutError}, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		ctx.TimeoutError("first")
		resp := ctx.LastTimeoutErrorResponse()
		k.kept(func(i int) error {
			if b := resp.Body(); string(b) != "first" {
				return fmt.Errorf("the response is %q", b)
			}
			ctx.TimeoutErrorWithCode("later", 503)
			return nil
		})
	}},
	{name: "request", servers: anyBodies, until: afterTimeout, request: (*keeper).post, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		body := string(ctx.PostBody())
		uri, args, header := ctx.URI(), ctx.QueryArgs(), &ctx.Request.Header
		k.kept(func(i int) error {
			trailer := string(header.Peek("X-Last"))
			if body != "kept "+k.id || string(ctx.PostBody()) != body || string(args.Peek("own")) != k.id ||
				string(uri.Path()) != "/keep/"+k.id || trailer != "" && trailer != k.id {
				return fmt.Errorf("the request is %q", ctx.Request.String())
			}
			args.Set("late", strconv.Itoa(i))
			header.Set("X-Late", strconv.Itoa(i))
			_ = ctx.PostArgs().Len()
			for range header.All() {
			}
			return nil
		})
	}},
	{name: "response", servers: anyBodies, until: afterTimeout, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		resp, w := &ctx.Response, ctx.Response.BodyWriter()
		k.kept(func(i int) error {
			resp.Header.Set("X-Late", strconv.Itoa(i))
			resp.Header.SetStatusCode(500)
			_ = resp.Header.AddTrailer("X-Last")
			_, _ = io.WriteString(w, "late")
			if !bytes.HasSuffix(resp.Body(), []byte("late")) {
				return fmt.Errorf("the body is %q", resp.Body())
			}
			if i%10 == 0 {
				resp.Reset()
			}
			return nil
		})
	}},
	{name: "user value", servers: anyBodies, until: afterAll, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		v := &keptValue{k: k, ctx: ctx}
		ctx.SetUserValue("kept", v)
		k.kept(func(int) error {
			if n := v.closed.Load(); n > 1 || n == 0 && !k.timedOut() {
				return fmt.Errorf("closed %d times", n)
			}
			return nil
		})
	}},
	{name: "connection of ConnState", servers: withHooks, until: afterAll, keep: func(k *keeper, _ *gallop.RequestCtx) {
		k.keepConn(k.hooks.state)
	}},
	{name: "connection of ConnContext", servers: withHooks, until: afterAll, keep: func(k *keeper, _ *gallop.RequestCtx) {
		k.keepConn(k.hooks.context)
	}},
	{name: "header of HeaderReceived", servers: withHooks, until: afterTimeout, keep: func(k *keeper, _ *gallop.RequestCtx) {
		k.kept(func(int) error {
			if own := k.hooks.header.Peek("X-Own"); string(own) != k.id {
				return fmt.Errorf("the header is %q", own)
			}
			return nil
		})
	}},
	{name: "parent context", servers: withHooks, until: afterAll, keep: func(k *keeper, ctx *gallop.RequestCtx) {
		parent := ctx.Parent()
		k.kept(func(int) error {
			if parent.Err() != nil || parent.Value(keptKey{}) != "kept" {
				return fmt.Errorf("the parent is %v, with %v", parent, parent.Err())
			}
			return nil
		})
	}},
	{name: "context of the form value function", servers: withHooks, until: afterAll, keep: func(_ *keeper, ctx *gallop.RequestCtx) {
		ctx.FormValue("any")
	}},
	{name: "context of the expect handler", servers: withHooks, until: afterAll, request: func(k *keeper) string {
		return k.head("POST") + "Content-Length: 4\r\nExpect: 100-continue\r\n\r\nkept"
	}},
	{name: "context of the error handler", servers: withHooks, until: []keptUntil{afterConn}, mute: true, request: func(k *keeper) string {
		return k.head("POST") + "Content-Length: 1000000000\r\n\r\n"
	}},
}

// askFirst returns a request whose client waits for 100 (Continue) before it sends the body, which it does not.
func (k *keeper) askFirst() string {
	return k.head("POST") + "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
}

// keepReader keeps a body stream, from which nothing may come after the end of its request.
func (k *keeper) keepReader(r io.Reader) {
	k.kept(func(i int) error {
		n, err := r.Read(make([]byte, 1+i%100))
		if n > 0 || err == nil {
			return fmt.Errorf("read %d bytes, %v", n, err)
		}
		return nil
	})
}

// keepWriter keeps a writer to a response, to which nothing may be written after the end of the response.
func (k *keeper) keepWriter(w io.Writer) {
	k.kept(func(i int) error {
		_, err := w.Write(bytes.Repeat([]byte("late"), 1+i%2000))
		if w, ok := w.(*bufio.Writer); ok && err == nil {
			err = w.Flush()
		}
		if err == nil {
			return errors.New("written")
		}
		return nil
	})
}

// keptWriterTo is a body stream that keeps the writer that it is given.
type keptWriterTo struct{ k *keeper }

// Read implements io.Reader.
func (keptWriterTo) Read([]byte) (int, error) { panic("Read instead of WriteTo") }

// SupportsBodyWriteTo implements gallop.BodyWriterTo.
func (keptWriterTo) SupportsBodyWriteTo() bool { return true }

// WriteTo implements io.WriterTo.
func (b keptWriterTo) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, "kept")
	b.k.keepWriter(w)
	return int64(n), err
}

// keptValue is a user value that looks at its request when it is closed.
type keptValue struct {
	k      *keeper
	ctx    *gallop.RequestCtx
	closed atomic.Int64
}

// Close implements io.Closer.
func (v *keptValue) Close() error {
	v.closed.Add(1)
	if own := v.ctx.Request.Header.Peek("X-Own"); string(own) != v.k.id {
		v.k.run.t.Errorf("%s: closed during the request %q", v.k, own)
	}
	return nil
}

// keepConn keeps a connection that belongs to the server.
func (k *keeper) keepConn(c net.Conn) {
	remote := c.RemoteAddr().String()
	k.kept(func(i int) error {
		if is := c.RemoteAddr().String(); is != remote || c.LocalAddr() == nil {
			return fmt.Errorf("the client is %v, and was %v", is, remote)
		}
		if k.until == afterHandler {
			return nil // the connection is still the server's
		}
		_ = c.SetDeadline(time.Unix(1, 0))
		n, err := c.Read(make([]byte, 10))
		if n > 0 || err == nil {
			return fmt.Errorf("read %d bytes, %v", n, err)
		}
		_, _ = c.Write([]byte("late"))
		return nil
	})
}

// keepHijacked keeps a connection that belongs to the program. The client sends back what it receives.
func (k *keeper) keepHijacked(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(keepPatience))
	_, _ = io.WriteString(c, "mine\n")
	r := bufio.NewReader(c)
	rest := sync.OnceValues(func() (string, error) {
		p := make([]byte, len("rest\n"))
		n, err := io.ReadFull(r, p)
		return string(p[:n]), err
	})
	k.kept(func(i int) error {
		if got, err := rest(); got != "rest\n" {
			return fmt.Errorf("the request is followed by %q, %v", got, err)
		}
		want := fmt.Sprintf("%s %d\n", k.id, i)
		if _, err := io.WriteString(c, want); err != nil {
			return err
		}
		if got, err := r.ReadString('\n'); got != want {
			return fmt.Errorf("got %q, want %q, %v", got, want, err)
		}
		return nil
	})
}

// keepContext keeps a RequestCtx whose Done was called, and everything that its methods return.
func (k *keeper) keepContext(ctx *gallop.RequestCtx) {
	done, conn, id := ctx.Done(), ctx.Conn(), ctx.ID()
	remote := ctx.RemoteAddr().String()
	k.kept(func(i int) error {
		select {
		case <-done:
		default:
			return errors.New("the context is not done")
		}
		if ctx.Done() != done || ctx.Err() == nil || ctx.ID() != id || ctx.HijackErr() == nil {
			return fmt.Errorf("ID %d, errors %v, %v", ctx.ID(), ctx.Err(), ctx.HijackErr())
		}
		ctx.Deadline()
		ctx.Parent()
		if k.timedOut() {
			if ctx.Conn() != conn || ctx.RemoteAddr().String() != remote {
				return fmt.Errorf("the connection is from %v, and was from %v", ctx.RemoteAddr(), remote)
			}
			if own := ctx.Request.Header.Peek("X-Own"); string(own) != k.id {
				return fmt.Errorf("the request has the header %q", own)
			}
			if uri := ctx.URI().FullURI(); string(uri) != "http://kept/keep/"+k.id+"?own="+k.id {
				return fmt.Errorf("the request is for %q", uri)
			}
			ctx.SetUserValue("late", i)
			if ctx.Value("late") != i {
				return fmt.Errorf("the user value is %v, not %d", ctx.Value("late"), i)
			}
			_ = ctx.ConnTime()
			_ = ctx.String()
			ctx.Logger().Printf("late %d", i)
			ctx.TimeoutError("late")
			ctx.SetBodyString("late")
		} else if c := ctx.Conn(); c != nil {
			return fmt.Errorf("the connection is %v", c.RemoteAddr())
		}
		_ = ctx.IsTLS()
		stopped := ctx.OnDisconnect(func(error) {})()
		_ = ctx.SetReadDeadline(time.Unix(1, 0))
		_ = ctx.SetWriteDeadline(time.Unix(1, 0))
		_ = ctx.WriteInterim(gallop.StatusProcessing)
		_, err1 := ctx.StreamResponse()
		_, err2 := ctx.HijackConn()
		_, err3 := ctx.AcceptStream()
		if stopped || ctx.Streaming() || err1 == nil || err2 == nil || err3 == nil {
			return fmt.Errorf("%v, %v, %v, %v, %v", stopped, ctx.Streaming(), err1, err2, err3)
		}
		if body := ctx.RequestBodyStream(); body != nil {
			if n, err := body.Read(make([]byte, 10)); n > 0 || err == nil {
				return fmt.Errorf("read %d bytes, %v", n, err)
			}
		}
		return nil
	})
}

// keepTime is how long TimeoutHandler waits for a handler that keeps something. On a busy machine, keeping takes a while.
var keepTime = 300 * time.Millisecond

func init() {
	if servertest.RaceEnabled {
		keepTime = time.Second
	}
}

// keepPatience is how long connections and keepers wait. On a busy machine, one run of a race build takes more than a minute.
const keepPatience = 10 * time.Minute

// keepRun is a server with keepers.
type keepRun struct {
	t       *testing.T
	on      servertest.Transport
	server  *gallop.Server
	ln      servertest.Listener
	served  chan error
	parent  context.Context
	streams bool // requests of the others may have streams as responses
	keepers []*keeper
	byURI   map[string]*keeper
	over    chan struct{}
	open    atomic.Int64   // connections of keepers that stay open
	left    sync.WaitGroup // handlers that were left behind

	uses atomic.Bool   // handlers of the others use what was kept
	hold chan struct{} // handlers of the others wait for it, unless it is nil
	held atomic.Int64  // how many do
	next atomic.Int64  // number of the next of the others' requests
}

// keeperOf returns the keeper whose request has this target.
func (r *keepRun) keeperOf(uri string) *keeper {
	uri = strings.TrimPrefix(uri, "http://kept")
	path, _, _ := strings.Cut(uri, "?")
	return r.byURI[path]
}

// serve starts a server with these settings.
func (r *keepRun) serve(settings string) {
	s := &gallop.Server{PoisonReleased: true, Logger: servertest.Quiet, MinBodyRate: -1, Handler: r.handle} // clients may be slow
	keepServers[settings](r, s)
	r.server, r.ln, r.served = s, r.on.Listen(s), make(chan error, 1)
	s, ln, served := r.server, r.ln, r.served
	go func() { served <- s.Serve(ln) }()
}

// shutDown shuts the server down.
func (r *keepRun) shutDown() {
	if err := r.server.Shutdown(); err != nil {
		r.t.Error(err)
	}
	if err := <-r.served; err != nil {
		r.t.Error(err)
	}
}

func (r *keepRun) handle(ctx *gallop.RequestCtx) {
	k := r.keeperOf(string(ctx.Path()))
	if k == nil {
		r.handleOther(ctx)
		return
	}
	keep := k.keep
	if keep == nil {
		keep = func(*keeper, *gallop.RequestCtx) {}
	}
	switch k.until {
	case afterTimeoutHandler:
		r.left.Add(1)
		gallop.TimeoutHandler(func(ctx *gallop.RequestCtx) {
			defer r.left.Done()
			keep(k, ctx)
			<-r.over
		}, keepTime, "late")(ctx)
	case afterTimeoutError:
		keep(k, ctx)
		ctx.TimeoutError("late")
	default:
		keep(k, ctx)
	}
}

// start makes the request of a keeper, and returns when the keeper has kept the thing. The client still has to see the
// response, which finish does.
func (r *keepRun) start(k *keeper) (finish func()) {
	c, err := r.ln.Dial()
	if err != nil {
		r.t.Error(err)
		return func() {}
	}
	k.client = c
	_ = c.SetDeadline(time.Now().Add(keepPatience))
	request := k.get()
	if k.request != nil {
		request = k.request(k)
	}
	if k.echoes {
		request += "rest\n"
	}
	if _, err := io.WriteString(c, request); err != nil {
		r.t.Errorf("%s: %v", k, err)
		return func() {}
	}
	select {
	case <-k.ready:
	case <-time.After(time.Minute):
		r.t.Errorf("%s: nothing was kept", k)
		return func() {}
	}
	return func() { r.finish(k, c, bufio.NewReader(c)) }
}

// finish reads the response of a keeper. It returns when the server has let go of the request, or has closed the connection.
func (r *keepRun) finish(k *keeper, c net.Conn, in *bufio.Reader) {
	if k.echoes {
		r.echo(k, in)
		return
	}
	if k.until == afterHandler || !k.mute {
		if resp := r.wantResponse(k, in); k.until == afterHandler && resp != nil && !resp.Close {
			r.ask(k.String(), c, in, r.next.Add(1)) // after which the server has let go of the request before
			r.open.Add(1)
			go func() { _, _ = io.Copy(io.Discard, c) }()
			return
		}
	}
	_, _ = io.Copy(io.Discard, in) // until the server closes the connection
	_ = c.Close()
}

// startAll makes the requests of all keepers, at once or one after the other. It returns when the server has let go of the
// connections that are closed.
func (r *keepRun) startAll(atOnce bool) {
	var all sync.WaitGroup
	for _, k := range r.keepers {
		if atOnce {
			all.Go(func() { r.start(k)() })
		} else {
			all.Go(r.start(k))
		}
	}
	all.Wait()
	for end := time.Now().Add(time.Minute); int64(r.server.GetOpenConnectionsCount()) > r.open.Load(); {
		if time.Now().After(end) {
			r.t.Errorf("%d connections are open, want %d", r.server.GetOpenConnectionsCount(), r.open.Load())
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// wantResponse reads the response for a keeper. It returns nil if there is none.
func (r *keepRun) wantResponse(k *keeper, in *bufio.Reader) *http.Response {
	status := 200
	if k.timedOut() {
		status = 408
	}
	resp, err := http.ReadResponse(in, nil)
	for err == nil && resp.StatusCode == 100 {
		resp, err = http.ReadResponse(in, nil)
	}
	if err != nil {
		r.t.Errorf("%s: %v", k, err)
		return nil
	}
	if _, err := io.Copy(io.Discard, resp.Body); resp.StatusCode != status || err != nil {
		r.t.Errorf("%s: status %d, %v", k, resp.StatusCode, err)
	}
	return resp
}

// echo sends back everything that arrives for a hijacked connection.
func (r *keepRun) echo(k *keeper, in *bufio.Reader) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			r.t.Errorf("%s: %v", k, err)
			return
		}
		if line == "mine\n" {
			break
		}
	}
	go func() { _, _ = io.Copy(k.client, in) }()
}

// handleOther serves a request that must not notice the keepers.
func (r *keepRun) handleOther(ctx *gallop.RequestCtx) {
	n, err := strconv.Atoi(strings.TrimPrefix(string(ctx.Path()), "/other/"))
	if err != nil {
		r.t.Errorf("a request for %q", ctx.Path())
		return
	}
	conn, remote := ctx.Conn(), ctx.RemoteAddr().String()
	check := func(when string) {
		own, head := strconv.Itoa(n), &ctx.Request.Header
		if string(head.Peek("X-Own")) != own || string(ctx.RequestURI()) != "/other/"+own+"?own="+own || string(ctx.Host()) != "other" ||
			string(ctx.QueryArgs().Peek("own")) != own || ctx.Conn() != conn || ctx.RemoteAddr().String() != remote || ctx.Err() != nil {
			if r.hold == nil || ctx.Err() == nil { // Shutdown cancels
				r.t.Errorf("request %d has at its %s %q, %v", n, when, head.String(), ctx.Err())
			}
		}
	}
	check("start")
	half := len(otherBody(n)) / 2
	body := make([]byte, half, 2*half)
	stream := ctx.RequestBodyStream()
	if stream == nil {
		body = append(body[:0], ctx.PostBody()...)
	} else if _, err := io.ReadFull(stream, body); err != nil {
		r.t.Errorf("request %d: %v", n, err)
	}
	switch n % 4 {
	case 1:
		ctx.Done()
	case 2:
		ctx.OnDisconnect(func(err error) {})
	}
	if hold := r.hold; hold != nil {
		r.held.Add(1)
		<-hold
	}
	if r.uses.Load() && n%4 == 0 {
		for _, k := range r.keepers {
			k.useOnce(n)
		}
	}
	runtime.Gosched()
	check("middle")
	if stream != nil {
		rest, err := io.ReadAll(stream)
		if body = append(body, rest...); err != nil {
			r.t.Errorf("request %d: %v", n, err)
		}
	}
	if string(body) != otherBody(n) {
		r.t.Errorf("request %d has the body %q", n, body)
	}
	ctx.Response.Header.Set("X-Own", strconv.Itoa(n))
	if r.streams && n%4 == 3 {
		w, err := ctx.StreamResponse()
		if err != nil {
			r.t.Errorf("request %d: %v", n, err)
			return
		}
		_, _ = w.Write(body[:half])
		_ = w.Flush()
		_, _ = w.Write(body[half:])
	} else {
		ctx.SetBody(body)
	}
	check("end")
}

func otherBody(n int) string { return strings.Repeat(fmt.Sprintf("body %d ", n), 50) }

// ask sends one of the other requests, and checks the response. It reports whether the connection can go on.
func (r *keepRun) ask(who string, c net.Conn, in *bufio.Reader, n int64) bool {
	body := otherBody(int(n))
	head := fmt.Sprintf("POST /other/%d?own=%d HTTP/1.1\r\nHost: other\r\nX-Own: %d\r\nContent-Length: %d\r\n\r\n", n, n, n, len(body))
	_, err := io.WriteString(c, head+body[:10])
	if err == nil {
		runtime.Gosched()
		_, err = io.WriteString(c, body[10:])
	}
	if err != nil {
		r.t.Errorf("%s, request %d: %v", who, n, err)
		return false
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		r.t.Errorf("%s, request %d: %v", who, n, err)
		return false
	}
	got, err := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || resp.Header.Get("X-Own") != strconv.FormatInt(n, 10) || string(got) != body || err != nil {
		r.t.Errorf("%s, request %d: got %d, %v, %.80q, %v", who, n, resp.StatusCode, resp.Header, got, err)
		return false
	}
	return true
}

// askAll makes n of the other requests, on conns connections at a time, which get each requests.
func (r *keepRun) askAll(n, conns, each int) {
	for ; n > 0; n -= conns * each {
		var all sync.WaitGroup
		for range conns {
			all.Go(func() {
				c, err := r.ln.Dial()
				if err != nil {
					r.t.Error(err)
					return
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(keepPatience))
				in := bufio.NewReader(c)
				for range each {
					if !r.ask("others", c, in, r.next.Add(1)) {
						return
					}
				}
			})
		}
		all.Wait()
	}
}

// beside calls f while every keeper uses what it has kept, 100 times or more.
func (r *keepRun) beside(f func()) {
	var stop atomic.Bool
	var all sync.WaitGroup
	for _, k := range r.keepers {
		all.Go(func() {
			for i := 0; i < 100 || !stop.Load(); i++ {
				k.useOnce(i)
				time.Sleep(200 * time.Microsecond)
			}
		})
	}
	f()
	stop.Store(true)
	all.Wait()
}

// runKeepers runs cases on one server.
// All keepers use what they have kept during four phases, in which other requests run:
//
//   - handlers of the other requests do so in their middle
//   - goroutines of the keepers do so
//   - goroutines do so, while the server shuts down with requests in flight
//   - goroutines do so, while another server runs in the process
func runKeepers(t *testing.T, on servertest.Transport, settings string, cases []*keepCase, others int) {
	r := &keepRun{t: t, on: on, byURI: map[string]*keeper{}, over: make(chan struct{}), streams: settings == "whole bodies",
		parent: context.WithValue(context.Background(), keptKey{}, "kept")}
	for _, c := range cases {
		for _, until := range c.until {
			k := &keeper{keepCase: c, run: r, until: until, id: fmt.Sprint(len(r.keepers)), ready: make(chan struct{})}
			r.keepers = append(r.keepers, k)
			r.byURI["/keep/"+k.id] = k
		}
	}
	r.serve(settings)
	r.startAll(settings != "hooks") // because hooks show which connection is the last one
	defer func() {
		close(r.over)
		for _, k := range r.keepers {
			if k.client != nil {
				_ = k.client.Close()
			}
		}
		r.left.Wait()
		time.Sleep(time.Millisecond) // in which user values are closed
	}()
	if t.Failed() {
		r.shutDown()
		return
	}
	r.uses.Store(true)
	r.askAll(others*2/5, 40, 5)
	r.uses.Store(false)
	r.beside(func() { r.askAll(others*2/5, 40, 5) })

	// Requests in flight when the server shuts down.
	const inFlight = 10
	r.hold = make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { r.askAll(inFlight, inFlight, 1) })
	for r.held.Load() < inFlight {
		time.Sleep(time.Millisecond)
	}
	r.beside(func() {
		down := make(chan struct{})
		go func() { r.shutDown(); close(down) }()
		time.Sleep(5 * time.Millisecond)
		close(r.hold)
		all.Wait()
		<-down
	})
	r.hold = nil
	r.serve(settings)
	r.beside(func() { r.askAll(others/5, 40, 5) })
	r.shutDown()
}

// Things that a program keeps harm no other request. Each request sees its own header, URI, body and connection at its
// start, in its middle and at its end, and its client gets the response. With GALLOP_LONG=1, each case also runs alone.
func TestKeptByHandlers(t *testing.T) {
	t.Parallel()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		t.Parallel()
		for settings := range keepServers {
			t.Run(settings, func(t *testing.T) {
				t.Parallel()
				var cases []*keepCase
				for i := range keepCases {
					c := &keepCases[i]
					for _, s := range c.servers {
						if s == settings {
							cases = append(cases, c)
						}
					}
				}
				runKeepers(t, on, settings, cases, 1000)
				if !wiretest.Long() {
					return
				}
				for _, c := range cases {
					t.Run(c.name, func(t *testing.T) { runKeepers(t, on, settings, []*keepCase{c}, 1000) })
				}
			})
		}
	})
}
