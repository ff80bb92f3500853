package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// The code of streaming.md.

func TestReadARequestBodyAsItArrives(t *testing.T) {
	const maxUpload = 8 << 20
	dst := io.Discard
	s := &gallop.Server{
		StreamRequestBody: true,
		Handler: func(ctx *gallop.RequestCtx) {
			var body io.Reader = http.NoBody
			if stream := ctx.RequestBodyStream(); stream != nil {
				body = stream
			}
			n, err := io.Copy(dst, io.LimitReader(body, maxUpload+1))
			switch {
			case err != nil:
				ctx.Error("the upload broke off", gallop.StatusBadRequest)
			case n > maxUpload:
				ctx.Error("the upload is too large", gallop.StatusRequestEntityTooLarge)
			default:
				fmt.Fprintf(ctx, "%d bytes", n)
			}
		},
	}
	v := visiting(t, s)
	for body, want := range map[string]string{
		"":                           "0 bytes",
		strings.Repeat("x", 5<<20):   "5242880 bytes",
		strings.Repeat("x", 8<<20+1): "the upload is too large",
	} {
		if _, got := v.send(v.request("POST", "/", body)); got != want {
			t.Errorf("%d bytes: %s", len(body), got)
		}
	}
}

func TestAStreamEndsWithItsHandler(t *testing.T) {
	kept := make(chan io.Reader, 2)
	v := visiting(t, &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) { kept <- ctx.RequestBodyStream() }})
	v.want(200, "POST", "/", strings.Repeat("x", 100<<10))
	v.want(200, "GET", "/", "")
	if _, err := (<-kept).Read(make([]byte, 1)); err != gallop.ErrBodyClosed {
		t.Error(err)
	}
}

func TestReadTheWholeBodyWithinABound(t *testing.T) {
	for _, stream := range []bool{false, true} {
		called := false
		v := visiting(t, &gallop.Server{StreamRequestBody: stream, MaxRequestBodySize: 100, Handler: func(ctx *gallop.RequestCtx) {
			called = true
			body := ctx.PostBody()
			if err := ctx.Request.BodyErr(); err != nil {
				ctx.Error(err.Error(), gallop.StatusRequestEntityTooLarge)
				return
			}
			ctx.SetBody(body)
		}})
		v.want(413, "POST", "/", strings.Repeat("x", 101))
		if called != stream {
			t.Errorf("called: %t, StreamRequestBody: %t", called, stream)
		}
		v.want(200, "POST", "/", strings.Repeat("x", 100))
	}
}

func TestReadAMultipartFormPartByPart(t *testing.T) {
	dst := io.Discard
	v := visiting(t, &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
		form, err := ctx.Request.MultipartReader()
		if err != nil {
			ctx.Error("not a form", gallop.StatusBadRequest)
			return
		}
		for {
			part, err := form.NextPart()
			if err == io.EOF {
				break
			}
			if err != nil {
				ctx.Error("the form broke off", gallop.StatusBadRequest)
				return
			}
			n, err := io.Copy(dst, part)
			if err != nil {
				ctx.Error("the form broke off", gallop.StatusBadRequest)
				return
			}
			fmt.Fprintf(ctx, "%s: %d bytes\n", part.FileName(), n)
		}
	}})
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for _, name := range []string{"a.txt", "b.txt"} {
		file, _ := w.CreateFormFile("file", name)
		file.Write(make([]byte, 3<<20))
	}
	w.Close()
	req := v.request("POST", "/", form.String())
	req.Header.SetContentType(w.FormDataContentType())
	if _, got := v.send(req); got != "a.txt: 3145728 bytes\nb.txt: 3145728 bytes\n" {
		t.Error(got)
	}
	v.want(400, "POST", "/", "no form")
}

func TestSendAReader(t *testing.T) {
	report := strings.NewReader("a,b\n")
	v := visiting(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("text/csv")
		ctx.SetBodyStream(report, -1) // the size, or -1 if it is unknown
	}})
	if _, got := v.send(v.request("GET", "/", "")); got != "a,b\n" {
		t.Error(got)
	}
}

func TestWriteTheResponseWhileTheHandlerRuns(t *testing.T) {
	rows := slices.Values([]string{`{"n":1}`, `{"n":2}`})
	v := visiting(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.SetContentType("application/x-ndjson")
		stream, err := ctx.StreamResponse()
		if err != nil {
			ctx.Error(err.Error(), gallop.StatusInternalServerError)
			return
		}
		for row := range rows {
			if _, err := fmt.Fprintln(stream, row); err != nil {
				return // the client is gone
			}
		}
		if string(ctx.Path()) == "/abort" {
			panic(gallop.ErrAbortHandler)
		}
	}})
	if _, got := v.send(v.request("GET", "/", "")); got != "{\"n\":1}\n{\"n\":2}\n" {
		t.Error(got)
	}
	v.client.MaxIdemponentCallAttempts = 1
	if err := v.client.DoContext(t.Context(), v.request("GET", "/abort", ""), nil); err == nil {
		t.Error("the client takes a part for the whole")
	}
}

func TestSendServerSentEvents(t *testing.T) {
	type message struct{ ID, Text string }
	messages := make(chan message, 1)
	s := &gallop.Server{}
	app := web.New(web.Config{Server: s, NoListenLog: true})
	app.Get("/events", func(c *web.Ctx) error {
		return c.SSE(func(s *web.EventStream) error {
			for {
				select {
				case <-c.Done():
					return nil
				case m := <-messages:
					s.Send(web.Event{ID: m.ID, Data: m.Text})
				}
			}
		})
	})
	v := visiting(t, s)
	messages <- message{"7", "hello"}
	var resp gallop.Response
	resp.StreamBody = true
	if err := v.client.DoContext(t.Context(), v.request("GET", "/events", ""), &resp); err != nil {
		t.Fatal(err)
	}
	defer resp.CloseBodyStream()
	event := make([]byte, len("id: 7\ndata: hello\n\n"))
	if _, err := io.ReadFull(resp.BodyStream(), event); err != nil || string(event) != "id: 7\ndata: hello\n\n" {
		t.Errorf("%q, %v", event, err)
	}
}

func TestStopWhenTheClientIsGone(t *testing.T) {
	results, ended := make(chan string, 1), make(chan bool)
	v := visiting(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		defer func() { ended <- true }()
		stream, _ := ctx.StreamResponse()
		wait := func() {
			select {
			case <-ctx.Done():
				return // the client is gone, or the server shuts down
			case result := <-results:
				fmt.Fprintln(stream, result)
			}
		}
		wait()
		stream.Flush()
		wait()
	}})
	results <- "one"
	var resp gallop.Response
	resp.StreamBody = true
	ctx, cancel := context.WithCancel(t.Context())
	if err := v.client.DoContext(ctx, v.request("GET", "/", ""), &resp); err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.CloseBodyStream()
	<-ended
}

func TestSendAndReadTrailers(t *testing.T) {
	report := strings.NewReader("a,b\n")
	v := visiting(t, &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		stream, err := ctx.StreamResponse()
		if err != nil {
			ctx.Error(err.Error(), gallop.StatusInternalServerError)
			return
		}
		sum := sha256.New()
		io.Copy(io.MultiWriter(stream, sum), report)
		ctx.Response.Header.AddTrailer("Checksum")
		ctx.Response.Header.Set("Checksum", hex.EncodeToString(sum.Sum(nil)))
	}})
	var resp gallop.Response
	if err := v.client.DoContext(t.Context(), v.request("GET", "/", ""), &resp); err != nil {
		t.Fatal(err)
	}
	body := resp.Body()
	checksum := resp.Header.PeekTrailer("Checksum")
	if want := sha256.Sum256(body); string(checksum) != hex.EncodeToString(want[:]) {
		t.Errorf("%s of %q", checksum, body)
	}
}

func TestStreamWithAClient(t *testing.T) {
	v := visiting(t, &gallop.Server{StreamRequestBody: true, MaxRequestBodySize: 1, Handler: func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/early" {
			ctx.Error("no", gallop.StatusForbidden)
			return
		}
		n, _ := io.Copy(io.Discard, ctx.RequestBodyStream())
		ctx.SetBodyStream(io.LimitReader(neverEnding26{}, n), -1)
	}})
	client := v.client
	download := func(ctx context.Context, dst io.Writer, req *gallop.Request, resp *gallop.Response) error {
		resp.StreamBody = true
		if err := client.DoContext(ctx, req, resp); err != nil {
			return err
		}
		defer resp.CloseBodyStream()
		_, err := io.Copy(dst, resp.BodyStream())
		return err
	}
	send := func(ctx context.Context, file io.Reader, size int, req *gallop.Request, resp *gallop.Response) error {
		req.Header.SetMethod(gallop.MethodPut)
		req.SetBodyStream(file, size) // or -1: in chunks
		if err := client.DoContext(ctx, req, resp); err != nil {
			return err
		}
		return nil
	}
	var dst bytes.Buffer
	var resp gallop.Response
	if err := download(t.Context(), &dst, v.request("POST", "/", strings.Repeat("x", 1<<20)), &resp); err != nil || dst.Len() != 1<<20 {
		t.Error(dst.Len(), err)
	}
	resp.Reset()
	if err := send(t.Context(), neverEnding26{}, -1, v.request("PUT", "/early", ""), &resp); err != nil || resp.StatusCode() != 403 {
		t.Error(resp.StatusCode(), err)
	}
	resp.Reset()
	if err := send(t.Context(), strings.NewReader("abc"), 3, v.request("PUT", "/", ""), &resp); err != nil || len(resp.Body()) != 3 {
		t.Error(err)
	}
}

// neverEnding26 is a body that has no end.
type neverEnding26 struct{}

func (neverEnding26) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a' + byte(i%26)
	}
	return len(p), nil
}

func TestStreamInBothDirectionsAtOnce(t *testing.T) {
	v := visiting(t, &gallop.Server{StreamRequestBody: true, Handler: func(ctx *gallop.RequestCtx) {
		ctx.Request.FullDuplex = true
		stream, err := ctx.StreamResponse()
		if err != nil {
			return
		}
		lines := bufio.NewScanner(ctx.RequestBodyStream())
		for lines.Scan() {
			fmt.Fprintln(stream, "you said", lines.Text())
			stream.Flush()
		}
	}})
	client := v.client
	questions, ask := io.Pipe()
	talk := func(ctx context.Context, req *gallop.Request, resp *gallop.Response) error {
		req.FullDuplex = true
		req.SetBodyStream(questions, -1)
		resp.StreamBody = true
		if err := client.DoContext(ctx, req, resp); err != nil {
			return err
		}
		defer resp.CloseBodyStream()

		answers := bufio.NewScanner(resp.BodyStream())
		for range 3 {
			fmt.Fprintln(ask, "hello")
			if !answers.Scan() || answers.Text() != "you said hello" {
				return errors.New("heard " + answers.Text())
			}
		}
		return ask.Close()
	}
	go fmt.Fprintln(ask, "hello") // the server sends its header with the first line
	if err := talk(t.Context(), v.request("POST", "/", ""), new(gallop.Response)); err != nil {
		t.Error(err)
	}
}
