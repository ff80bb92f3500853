package nethttp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// tell writes down what all methods of a request say, and its fields that TestRequest leaves out.
func tell(w http.ResponseWriter, r *http.Request) {
	clone := r.Clone(context.WithValue(r.Context(), connKey{}, 1))
	clone.AddCookie(&http.Cookie{Name: "more", Value: "1"})
	clone.SetPathValue("set", "too")
	clone.SetBasicAuth("x", "y")
	say := func(what string, values ...any) { fmt.Fprintf(w, "%s %v\n", what, values) }
	if r.Header.Get("X-Read") != "" {
		reader, err := r.MultipartReader()
		say("reader", err)
		for {
			part, err := reader.NextPart()
			if err != nil {
				say("last", err)
				return
			}
			content, err := io.ReadAll(part)
			say("part", part.FormName(), part.FileName(), string(content), err)
		}
	}
	say("parsed", r.ParseMultipartForm(1<<20), r.ParseForm())
	user, password, ok := r.BasicAuth()
	say("auth", user, password, ok)
	cookie, err := r.Cookie("a")
	say("cookie", cookie, err)
	say("cookies", r.Cookies(), r.CookiesNamed("a"), clone.Cookies())
	say("values", r.FormValue("q"), r.FormValue("f"), r.PostFormValue("q"), r.PostFormValue("f"))
	say("forms", r.Form, r.PostForm)
	if r.MultipartForm != nil {
		file, header, err := r.FormFile("file")
		content, _ := io.ReadAll(file)
		say("file", r.MultipartForm.Value, header.Filename, header.Size, string(content), err)
	}
	say("path", r.Pattern, r.PathValue("id"), clone.PathValue("set"), clone.Header["Authorization"])
	say("agents", r.Referer(), r.UserAgent(), r.ProtoAtLeast(1, 1), r.ProtoAtLeast(2, 0))
	say("contexts", r.Context().Value(connKey{}), clone.Context().Value(connKey{}), r.WithContext(clone.Context()).Context().Value(connKey{}))
	say("TLS", r.TLS != nil, r.TLS != nil && r.TLS.HandshakeComplete, r.Response, r.GetBody == nil)
	var sent bytes.Buffer
	clone.Body, clone.ContentLength = io.NopCloser(strings.NewReader("again")), 5
	say("write", clone.Write(&sent), strings.Count(sent.String(), "\r\n"), strings.HasSuffix(sent.String(), "again"))
	sent.Reset()
	clone.Body = http.NoBody
	say("proxy", clone.WriteProxy(&sent), strings.SplitN(sent.String(), " ", 3)[0])
}

// Every method of a request says the same on every server, with TLS or without.
func TestRequestMethods(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /items/{id}", tell)
	mux.HandleFunc("GET /items/{id}", tell)
	certPEM, keyPEM, err := gallop.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}}
	for _, secure := range []bool{false, true} {
		std, own := &http.Server{Handler: mux, TLSConfig: config.Clone()}, nethttp.NewServer(mux)
		own.TLSConfig = config.Clone()
		std.Protocols = new(http.Protocols)
		std.Protocols.SetHTTP1(true)
		var told [2][]string
		for i, server := range []interface {
			Serve(net.Listener) error
			ServeTLS(net.Listener, string, string) error
			Close() error
		}{std, own} {
			ln, scheme := listen(t), "http"
			if secure {
				scheme = "https"
				go server.ServeTLS(ln, "", "")
			} else {
				go server.Serve(ln)
			}
			told[i] = tellAll(t, scheme+"://"+ln.Addr().String())
			server.Close()
		}
		for i, want := range told[0] {
			if got := told[1][i]; got != want || !strings.Contains(want, "\n") {
				t.Errorf("TLS %v, request %d: got\n%s\nwant\n%s", secure, i, got, want)
			}
		}
	}
}

// tellAll makes requests and returns what is told of them.
func tellAll(t *testing.T, url string) (told []string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	parts.WriteField("f", "field")
	file, err := parts.CreateFormFile("file", "name.txt")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(file, "content")
	parts.Close()
	for _, body := range []struct{ method, contentType, text, read string }{
		{"GET", "", "", ""},
		{"POST", "application/x-www-form-urlencoded", "f=1&q=2&f=3", ""},
		{"POST", parts.FormDataContentType(), form.String(), ""},
		{"POST", parts.FormDataContentType(), form.String(), "yes"},
	} {
		r, err := http.NewRequest(body.method, url+"/items/seven?q=query&x=%41", strings.NewReader(body.text))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "example.com" // the same for all servers
		r.Header.Set("Referer", "http://example.com/before")
		r.Header.Set("User-Agent", "test/1")
		r.Header.Add("Cookie", "a=1; b=2")
		r.Header.Add("Cookie", "a=3")
		r.SetBasicAuth("user", "secret")
		if body.contentType != "" {
			r.Header.Set("Content-Type", body.contentType)
		}
		if body.read != "" {
			r.Header.Set("X-Read", body.read)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || resp.StatusCode != 200 {
			t.Errorf("%d, %v", resp.StatusCode, err)
		}
		told = append(told, string(text))
	}
	return told
}
