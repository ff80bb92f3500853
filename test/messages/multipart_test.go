package messages_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	parts "github.com/gallop-http/gallop/internal/multipart"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
)

// formFilesInMemory is how many bytes of a form's files stay in memory. See Request.MultipartFormWithLimit.
const formFilesInMemory = 2 << 20

// form returns a form body with boundary X: a value, and files of these sizes.
func form(value string, files ...int) []byte {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	w.SetBoundary("X")
	w.WriteField("value", value)
	for _, size := range files {
		f, _ := w.CreateFormFile("file", "name.txt")
		io.CopyN(f, rand.NewChaCha8([32]byte{}), int64(size))
	}
	w.Close()
	return b.Bytes()
}

// formRequest returns a request with that body, in one of the ways to have one.
func formRequest(t *testing.T, how string, b []byte) *gallop.Request {
	if how == "connection" {
		return requestOnConnection(t, b)
	}
	req := new(gallop.Request)
	req.Header.SetMultipartFormBoundary("X")
	switch how {
	case "bytes":
		req.SetBody(b)
	case "stream":
		req.SetBodyStream(bytes.NewReader(b), len(b))
	case "gzip":
		req.Header.SetContentEncoding("gzip")
		req.SetBody(gallop.AppendGzipBytes(nil, b))
	}
	return req
}

// requestOnConnection returns a request whose body is read from a connection of a server.
func requestOnConnection(t *testing.T, b []byte) *gallop.Request {
	t.Helper()
	requests, done := make(chan *gallop.Request), make(chan struct{})
	s := &gallop.Server{StreamRequestBody: true, MaxRequestBodySize: 1 << 30, Handler: func(ctx *gallop.RequestCtx) {
		requests <- &ctx.Request
		<-done
	}}
	client, server := memnet.Pipe()
	t.Cleanup(func() {
		close(done)
		client.Close()
	})
	go s.ServeConn(server)
	go func() {
		head := "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=X\r\nTransfer-Encoding: chunked\r\n\r\n"
		io.WriteString(client, head)
		w := httputil.NewChunkedWriter(client)
		w.Write(b)
		w.Close()
		io.WriteString(client, "\r\n")
	}()
	return <-requests
}

// formIn returns the form in a body with this boundary. The files of the form are removed when the test ends.
func formIn(t *testing.T, b []byte, boundary string) (*multipart.Form, error) {
	req := new(gallop.Request)
	req.Header.SetMultipartFormBoundary(boundary)
	req.SetBody(b)
	t.Cleanup(req.Reset)
	return req.MultipartForm()
}

// leftFiles returns the names of what stands in the directory for temporary files.
func leftFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

var formBodies = []string{"bytes", "stream", "connection", "gzip"}

// A form is parsed once. Its larger files are on disk until Reset.
func TestMultipartForm(t *testing.T) {
	sizes := []int{10, formFilesInMemory + 1, 100}
	for _, how := range formBodies {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			req := formRequest(t, how, form("v", sizes...))
			got, err := req.MultipartForm()
			if err != nil {
				t.Fatal(err)
			}
			if again, err := req.MultipartForm(); again != got || err != nil {
				t.Errorf("the second time: %p and not %p, %v", again, got, err)
			}
			if got.Value["value"][0] != "v" || len(got.File["file"]) != len(sizes) {
				t.Fatalf("form %+v", got)
			}
			for i, fh := range got.File["file"] {
				f, err := fh.Open()
				if err != nil {
					t.Fatal(err)
				}
				content, err := io.ReadAll(f)
				f.Close()
				if len(content) != sizes[i] || err != nil || fh.Filename != "name.txt" {
					t.Errorf("file %d: %d bytes, %v, called %q", i, len(content), err, fh.Filename)
				}
			}
			if len(leftFiles(t, dir)) == 0 {
				t.Error("no file was spilled to disk")
			}
			if how == "stream" {
				parsed, err := formIn(t, req.Body(), "X")
				if err != nil || parsed.File["file"][1].Size != int64(sizes[1]) {
					t.Errorf("Body() as a form: %v, %v", parsed, err)
				}
				parsed.RemoveAll()
			}
			req.Reset()
			if left := leftFiles(t, dir); len(left) > 0 {
				t.Errorf("left after Reset: %v", left)
			}
		})
	}
}

// The form is that of the body there is, and not of one before.
func TestMultipartFormOfAnotherBody(t *testing.T) {
	for name, change := range map[string]func(req *gallop.Request, other []byte){
		"SetBody":       (*gallop.Request).SetBody,
		"SetBodyRaw":    (*gallop.Request).SetBodyRaw,
		"SetBodyStream": func(req *gallop.Request, other []byte) { req.SetBodyStream(bytes.NewReader(other), len(other)) },
		"SwapBody":      func(req *gallop.Request, other []byte) { req.SwapBody(other) },
		"AppendBody": func(req *gallop.Request, other []byte) {
			req.ResetBody()
			req.AppendBody(other)
		},
	} {
		for _, how := range []string{"bytes", "stream"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				dir := t.TempDir()
				t.Setenv("TMPDIR", dir)
				req := formRequest(t, how, form("v", formFilesInMemory+1))
				if _, err := req.MultipartForm(); err != nil {
					t.Fatal(err)
				}
				change(req, form("w"))
				got, err := req.MultipartForm()
				if err != nil || got.Value["value"][0] != "w" || len(got.File) != 0 {
					t.Errorf("form %+v, %v", got, err)
				}
				if left := leftFiles(t, dir); len(left) > 0 {
					t.Errorf("files of the other form are left: %v", left)
				}
			})
		}
	}
}

// Whatever is wrong is an error, and nothing stays behind.
func TestMultipartFormErrors(t *testing.T) {
	good := form("v", formFilesInMemory+1)
	for _, tt := range []struct {
		name  string
		body  []byte
		limit int
		want  error
	}{
		{"at the limit", good, len(good), nil},
		{"over the limit", good, len(good) - 1, gallop.ErrBodyTooLarge},
		{"value too large for memory", form(strings.Repeat("v", 13<<20)), 0, gallop.ErrBodyTooLarge},
		{"cut off in a file", good[:len(good)-100], 0, io.ErrUnexpectedEOF},
		{"cut off before the end", good[:len(good)-4], 0, io.ErrUnexpectedEOF},
		{"bad part behind a file", append(bytes.Clone(good[:len(good)-4]), "\r\nbad\r\n\r\n--X--"...), 0, parts.ErrHead},
		{"empty", nil, 0, io.ErrUnexpectedEOF},
	} {
		for _, how := range formBodies {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				dir := t.TempDir()
				t.Setenv("TMPDIR", dir)
				req := formRequest(t, how, tt.body)
				if _, err := req.MultipartFormWithLimit(tt.limit); !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if tt.want == nil {
					req.RemoveMultipartFormFiles()
				} else if again, _ := req.MultipartFormWithLimit(tt.limit); again != nil {
					t.Error("there is a form")
				} else if (how == "stream" || how == "connection") && (!errors.Is(req.BodyErr(), tt.want) || req.Body() != nil) {
					t.Errorf("body %.20q, %v", req.Body(), req.BodyErr())
				}
				if left := leftFiles(t, dir); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		}
	}
}

// The table lists bytes that are not a form, and the readers that might disagree.
func TestNoMultipartForm(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fields []string
		ok     bool
	}{
		{"form", []string{"multipart/form-data; boundary=X"}, true},
		{"quoted boundary", []string{`Multipart/Form-Data; charset=utf-8; boundary="X"`}, true},
		{"no type", nil, false},
		{"other type", []string{"multipart/mixed; boundary=X"}, false},
		{"no boundary", []string{"multipart/form-data"}, false},
		{"two boundaries", []string{"multipart/form-data; boundary=X; boundary=Y"}, false},
		{"boundary over the limit", []string{"multipart/form-data; boundary=" + strings.Repeat("x", 71)}, false},
		{"boundary with a strange byte", []string{`multipart/form-data; boundary="X{"`}, false},
	} {
		req := formRequest(t, "bytes", form("v"))
		req.Header.Del("Content-Type")
		for _, f := range tt.fields {
			req.Header.Add("Content-Type", f)
		}
		_, err := req.MultipartForm()
		_, err2 := req.MultipartReader()
		if tt.ok && (err != nil || err2 != nil) || !tt.ok && (err != gallop.ErrNoMultipartForm || err2 != gallop.ErrNoMultipartForm) {
			t.Errorf("%s: %v, %v", tt.name, err, err2)
		}
	}
}

// The streaming reader holds no part: a form larger than anybody's memory passes.
func TestMultipartReaderOfRequest(t *testing.T) {
	for _, how := range formBodies[:3] {
		m, err := formRequest(t, how, form("v", 3<<20)).MultipartReader()
		if err != nil {
			t.Fatal(err)
		}
		var total int64
		for p, err := range m.Parts() {
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, p)
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
		if total != 3<<20+1 {
			t.Errorf("%s: %d bytes", how, total)
		}
	}
}

func TestWriteMultipartForm(t *testing.T) {
	in, err := formIn(t, form("v", 10, formFilesInMemory+1), "X")
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := gallop.WriteMultipartForm(&first, in, "Y"); err != nil {
		t.Fatal(err)
	}
	gallop.WriteMultipartForm(&second, in, "Y")
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two different bodies for one form")
	}
	out, err := formIn(t, first.Bytes(), "Y")
	if err != nil {
		t.Fatal(err)
	}
	if out.Value["value"][0] != "v" || out.File["file"][1].Size != formFilesInMemory+1 {
		t.Errorf("form %+v", out)
	}
	for _, boundary := range []string{"", "a\r\nb", strings.Repeat("x", 71)} {
		if err := gallop.WriteMultipartForm(io.Discard, in, boundary); err != gallop.ErrNoMultipartForm {
			t.Errorf("boundary %.10q: %v", boundary, err)
		}
	}
	for name, want := range map[string]error{"a\x00b": parts.ErrHead, "a\x7f": parts.ErrHead, "a\"\\\r\n b\té": nil} {
		var body bytes.Buffer
		err := gallop.WriteMultipartForm(&body, &multipart.Form{Value: map[string][]string{name: {"v"}}}, "Y")
		if err != want {
			t.Errorf("name %q: %v", name, err)
		}
		if back, err := formIn(t, body.Bytes(), "Y"); want == nil && (err != nil || len(back.Value) != 1) {
			t.Errorf("name %q is read again as %+v, %v", name, back, err)
		}
	}
	in.File["file"][0].Header.Set("X", "a\r\nSmuggled: b")
	if err := gallop.WriteMultipartForm(io.Discard, in, "Y"); err != parts.ErrHead {
		t.Errorf("header with a line end: %v", err)
	}
	if err := gallop.WriteMultipartForm(wiretest.FailingWriter{}, out, "Y"); err != wiretest.ErrTest {
		t.Errorf("writer that fails: %v", err)
	}
}

func TestSaveMultipartFile(t *testing.T) {
	f, err := formIn(t, form("v", 10), "X")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "saved")
	for range 2 { // the second time it is overwritten
		if err := gallop.SaveMultipartFile(f.File["file"][0], path); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); len(got) != 10 || err != nil {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if err := gallop.SaveMultipartFile(f.File["file"][0], filepath.Join(path, "below")); err == nil {
		t.Error("no error below a file")
	}
}
