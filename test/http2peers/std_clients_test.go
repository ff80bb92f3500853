package http2peers_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// startServer starts a server and returns its URL, a client for it, and a function that shuts it down.
func startServer(t *testing.T, s *gallop.Server) (url string, client *http.Client) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Protocols = new(gallop.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.ErrorLog = slog.New(slog.DiscardHandler)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String(), &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// onEngines runs f with a server on event loops, and with one on goroutines.
func onEngines(t *testing.T, f func(t *testing.T, s *gallop.Server)) {
	for name, engine := range map[string]gallop.EngineType{"loop": gallop.EngineLoop, "goroutine": gallop.EngineGoroutine} {
		t.Run(name, func(t *testing.T) { f(t, &gallop.Server{Engine: engine}) })
	}
}

// get returns the body of a response with status 200.
func get(client *http.Client, url string) ([]byte, error) {
	resp, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != 200 {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	if err == nil && resp.ProtoMajor != 2 {
		err = fmt.Errorf("protocol %s", resp.Proto)
	}
	return body, err
}

// Bodies of all sizes go both ways at the same time on one connection.
func TestBodies(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *gallop.Server) {
		s.Handler = func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/stream" {
				body, stream := ctx.RequestBodyStream(), ctx
				w, err := stream.StreamResponse()
				if err == nil {
					_, err = w.ReadFrom(body)
				}
				if err != nil {
					panic(err)
				}
				return
			}
			ctx.SetBody(ctx.PostBody())
		}
		s.StreamRequestBody = true
		s.MaxRequestBodySize = 8 << 20
		url, client := startServer(t, s)
		var all sync.WaitGroup
		for _, size := range []int{0, 1, 1000, 16 << 10, 65535, 65536, 200_000, 3 << 20} {
			for _, path := range []string{"/whole", "/stream"} {
				all.Go(func() {
					body := make([]byte, size)
					rand.Read(body)
					resp, err := client.Post(url+path, "application/octet-stream", bytes.NewReader(body))
					if err != nil {
						t.Error(path, size, err)
						return
					}
					defer resp.Body.Close()
					got, err := io.ReadAll(resp.Body)
					if err != nil || sha256.Sum256(got) != sha256.Sum256(body) {
						t.Errorf("%s: %d of %d bytes, %v", path, len(got), size, err)
					}
				})
			}
		}
		all.Wait()
	})
}

// Many goroutines call many handlers of all kinds on few connections. Each gets its own response.
func TestMany(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *gallop.Server) {
		s.Handler = gallop.CompressHandler(func(ctx *gallop.RequestCtx) {
			id := string(ctx.QueryArgs().Peek("id"))
			switch string(ctx.Path()) {
			case "/sleep":
				time.Sleep(time.Millisecond)
			case "/panic":
				panic("on purpose")
			case "/abort":
				panic(gallop.ErrAbortHandler)
			case "/stream":
				w, err := ctx.StreamResponse()
				if err != nil {
					panic(err)
				}
				for _, c := range []byte(id) {
					w.Write([]byte{c})
					w.Flush()
				}
				return
			}
			ctx.SetBodyString(id)
		})
		url, client := startServer(t, s)
		var all sync.WaitGroup
		for worker := range 20 {
			all.Go(func() {
				for i := range 100 {
					id := fmt.Sprint(worker, ".", i)
					path := []string{"/", "/", "/sleep", "/stream", "/panic", "/abort", "/cancel"}[(i+worker)%7]
					ctx, cancel := context.WithCancel(t.Context())
					if path == "/cancel" {
						path = "/sleep"
						time.AfterFunc(time.Duration(i)*10*time.Microsecond, cancel)
					}
					req, _ := http.NewRequestWithContext(ctx, "GET", url+path+"?id="+strings.ReplaceAll(id, " ", "+"), nil)
					resp, err := client.Do(req)
					status, body := 0, []byte(nil)
					if err == nil {
						status = resp.StatusCode
						body, err = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					switch {
					case ctx.Err() != nil:
					case path == "/panic" && status == 500 && err == nil:
					case path == "/abort" && err != nil:
					case path != "/panic" && path != "/abort" && err == nil && status == 200 && string(body) == id:
					default:
						t.Errorf("%s %s: status %d, body %q, %v", path, id, status, body, err)
					}
					cancel()
				}
			})
		}
		all.Wait()
		if n := s.GetOpenConnectionsCount(); n < 1 || n > 25 {
			t.Errorf("%d connections are open", n)
		}
	})
}

// Shutdown under load loses no response, and returns soon.
func TestShutdownUnderLoad(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *gallop.Server) {
		var handled, answered atomic.Int64
		var stopping atomic.Bool
		s.Handler = func(ctx *gallop.RequestCtx) {
			handled.Add(1)
			time.Sleep(5 * time.Millisecond)
			ctx.SetBodyString("done")
		}
		url, client := startServer(t, s)
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				for {
					body, err := get(client, url)
					if err == nil && string(body) == "done" {
						answered.Add(1)
						continue
					}
					if !stopping.Load() { // later, connections that nobody accepts may be reset
						t.Errorf("%q, %v", body, err)
					}
					return
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		wiretest.Eventually(t, func() bool { return answered.Load() >= 30 })
		stopping.Store(true)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := s.ShutdownWithContext(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > 10*time.Second { // a busy machine needs more than a second
			t.Errorf("Shutdown took %v", took)
		}
		all.Wait()
		if handled.Load() != answered.Load() || handled.Load() < 30 {
			t.Errorf("%d requests were handled, %d responses arrived", handled.Load(), answered.Load())
		}
	})
}

// Trailers go both ways, and a context ends when the client gives up.
func TestTrailersAndCancellation(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *gallop.Server) {
		begun, gone := make(chan bool, 1), make(chan error, 1)
		s.Handler = func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/wait" {
				begun <- true
				<-ctx.Done()
				gone <- ctx.Err()
				return
			}
			ctx.Response.Header.AddTrailer("X-Sum")
			ctx.SetBodyString(string(ctx.PostBody()) + string(ctx.Request.Header.PeekTrailer("X-Note")))
			ctx.Response.Header.Set("X-Sum", "42")
		}
		url, client := startServer(t, s)
		req, _ := http.NewRequest("POST", url, io.MultiReader(strings.NewReader("body+")))
		req.Trailer = http.Header{"X-Note": {"note"}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != "body+note" || err != nil || resp.Trailer.Get("X-Sum") != "42" {
			t.Errorf("%q, %v, trailers %v", body, err, resp.Trailer)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			<-begun
			cancel()
		}()
		req, _ = http.NewRequestWithContext(ctx, "GET", url+"/wait", nil)
		if _, err := client.Do(req); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		select {
		case err := <-gone:
			if err != context.Canceled {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the handler does not learn that its client has gone")
		}
		if _, err := get(client, url); err != nil {
			t.Error(err)
		}
	})
}
