package gallopgrpc_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	_ "google.golang.org/grpc/encoding/gzip"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"

	"github.com/gallop-http/gallop"
	gallopgrpc "github.com/gallop-http/gallop/grpc"
)

// rawCall is a request to the server, with net/http's client over HTTP/2.
type rawCall struct {
	method, path string // POST and the unary method, if they are empty
	header       []string
	body         []byte
}

// rawReply is the response. The status is that of the trailers, or of the header without trailers.
type rawReply struct {
	http            int
	status, message string
	header, trailer http.Header
	body            []byte
}

const unaryPath, duplexPath = "/grpc.testing.TestService/UnaryCall", "/grpc.testing.TestService/FullDuplexCall"

// rawClient returns a client for HTTP/2, or for HTTP/1.
func (s *site) rawClient(http1 bool) *http.Client {
	tr := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	tr.Protocols.SetHTTP1(http1)
	tr.Protocols.SetHTTP2(!http1)
	tr.Protocols.SetUnencryptedHTTP2(!http1)
	s.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 10 * time.Second}
}

func (s *site) raw(client *http.Client, c rawCall) (r rawReply) {
	s.Helper()
	scheme := "http://"
	if s.server.TLSConfig != nil {
		scheme = "https://"
	}
	if c.method == "" {
		c.method = "POST"
	}
	if c.path == "" {
		c.path = unaryPath
	}
	req, err := http.NewRequest(c.method, scheme+s.addr+c.path, bytes.NewReader(c.body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	for _, line := range c.header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	resp, err := client.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	if r.body, err = io.ReadAll(resp.Body); err != nil {
		s.Fatal(err)
	}
	r.http, r.header, r.trailer = resp.StatusCode, resp.Header, resp.Trailer
	from := r.trailer
	if from.Get("Grpc-Status") == "" {
		from = r.header
	}
	r.status, r.message = from.Get("Grpc-Status"), from.Get("Grpc-Message")
	return r
}

// framed returns a message with a prefix.
func framed(flag byte, p []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(p))), p...)
}

func marshaled(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func gzipped(p []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(p)
	w.Close()
	return b.Bytes()
}

// Requests that no client of gRPC sends get a status, and cost nothing but their stream.
func TestMalformedRequests(t *testing.T) {
	hello := marshaled(textOf("hello"))
	whole := framed(0, hello)
	bomb := framed(1, gzipped(make([]byte, 5<<20)))
	for _, tc := range []struct {
		name    string
		call    rawCall
		http    int
		status  string
		message string
	}{
		{"fine", rawCall{body: whole}, 200, "0", ""},
		{"fine, with a codec", rawCall{header: []string{"content-type: application/grpc+proto"}, body: whole}, 200, "0", ""},
		{"fine, with upper case", rawCall{header: []string{"content-type: application/grpc+PROTO"}, body: whole}, 200, "0", ""},
		{"fine, empty message", rawCall{body: framed(0, nil)}, 200, "0", ""},
		{"fine, gzip", rawCall{header: []string{"grpc-encoding: gzip"}, body: framed(1, gzipped(hello))}, 200, "0", ""},
		{"fine, not compressed", rawCall{header: []string{"grpc-encoding: gzip"}, body: whole}, 200, "0", ""},
		{"fine, identity", rawCall{header: []string{"grpc-encoding: identity"}, body: whole}, 200, "0", ""},
		{"fine, padded", rawCall{header: []string{"a-bin: YWI=,YWI, YQ=="}, body: whole}, 200, "0", ""},
		{"content type", rawCall{header: []string{"content-type: application/json"}, body: whole}, 415, "", ""},
		{"content type of gRPC-Web", rawCall{header: []string{"content-type: application/grpc-web"}, body: whole}, 415, "", ""},
		{"no codec", rawCall{header: []string{"content-type: application/grpc+nothing"}, body: whole}, 415, "3", "codec"},
		{"GET", rawCall{method: "GET"}, 405, "13", "POST"},
		{"PUT", rawCall{method: "PUT", body: whole}, 405, "13", "POST"},
		{"path without method", rawCall{path: "/service", body: whole}, 200, "12", "malformed method name"},
		{"query", rawCall{path: unaryPath + "?a=b", body: whole}, 200, "12", "unknown method"},
		{"timeout without unit", rawCall{header: []string{"grpc-timeout: 10"}, body: whole}, 400, "13", "grpc-timeout"},
		{"timeout with too many digits", rawCall{header: []string{"grpc-timeout: 123456789S"}, body: whole}, 400, "13", "grpc-timeout"},
		{"binary metadata", rawCall{header: []string{"a-bin: !!"}, body: whole}, 400, "13", "a-bin"},
		{"binary metadata in a list", rawCall{header: []string{"a-bin: YWI,*"}, body: whole}, 400, "13", "a-bin"},
		{"no message", rawCall{}, 200, "13", "no message"},
		{"cut prefix", rawCall{body: whole[:3]}, 200, "13", "within a message"},
		{"prefix only", rawCall{body: whole[:5]}, 200, "13", "within a message"},
		{"cut message", rawCall{body: whole[:len(whole)-1]}, 200, "13", "within a message"},
		{"two messages", rawCall{body: append(whole[:len(whole):len(whole)], whole...)}, 200, "13", "more than one"},
		{"bytes behind the message", rawCall{body: append(whole[:len(whole):len(whole)], 0)}, 200, "13", "more than one"},
		{"unknown flags", rawCall{body: framed(2, hello)}, 200, "13", "flags"},
		{"compressed without encoding", rawCall{body: framed(1, gzipped(hello))}, 200, "13", "no grpc-encoding"},
		{"compressed with identity", rawCall{header: []string{"grpc-encoding: identity"}, body: framed(1, hello)}, 200, "13", "no grpc-encoding"},
		{"unknown encoding", rawCall{header: []string{"grpc-encoding: middle-out"}, body: whole}, 200, "12", "middle-out"},
		{"not gzip", rawCall{header: []string{"grpc-encoding: gzip"}, body: framed(1, hello)}, 200, "13", "decompressing"},
		{"gzip bomb", rawCall{header: []string{"grpc-encoding: gzip"}, body: bomb}, 200, "8", "after decompression"},
		{"not proto", rawCall{body: framed(0, []byte{0xff, 0xff, 0xff})}, 200, "13", "decoding"},
		{"announced too long", rawCall{body: []byte{0, 0xff, 0xff, 0xff, 0xff}}, 200, "8", "limit"},
		{"stream, cut message", rawCall{path: duplexPath, body: whole[:len(whole)-1]}, 200, "13", "within a message"},
		{"stream, cut prefix", rawCall{path: duplexPath, body: whole[:2]}, 200, "13", "within a message"},
		{"stream, announced too long", rawCall{path: duplexPath, body: []byte{0, 0xff, 0xff, 0xff, 0xff}}, 200, "8", "limit"},
		{"stream, not proto", rawCall{path: duplexPath, body: framed(0, []byte{0xff})}, 200, "13", "decoding"},
		{"stream, empty", rawCall{path: duplexPath}, 200, "0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			onWays(t, serving(&service{unary: echo, duplex: echoAll}), func(s *site) {
				client := s.rawClient(false)
				r := s.raw(client, tc.call)
				if r.http != tc.http || tc.status != "" && r.status != tc.status || !strings.Contains(r.message, tc.message) {
					s.Errorf("HTTP %d, status %s: %s", r.http, r.status, r.message)
				}
				if tc.http == 200 && r.header.Get("Content-Type") == "" {
					s.Errorf("header %v", r.header)
				}
				if again := s.raw(client, rawCall{body: whole}); again.status != "0" || !bytes.HasSuffix(again.body, []byte("hello")) {
					s.Errorf("next call: %+v", again)
				}
			})
		})
	}
}

func TestResponseFields(t *testing.T) {
	whole := framed(0, marshaled(textOf("hello")))
	onWays(t, serving(&service{unary: echo}), func(s *site) {
		client := s.rawClient(false)
		fine := s.raw(client, rawCall{body: whole, header: []string{"content-type: application/grpc+proto"}})
		if fine.header.Get("Content-Type") != "application/grpc+proto" || fine.header.Get("Grpc-Status") != "" || fine.trailer.Get("Grpc-Status") != "0" ||
			len(fine.trailer) != 1 || fine.header.Get("Trailer") != "" {
			s.Errorf("%+v", fine)
		}
		only := s.raw(client, rawCall{path: "/no/thing", body: whole})
		if only.header.Get("Grpc-Status") != "12" || len(only.trailer) != 0 || only.header.Get("Content-Type") != "application/grpc" {
			s.Errorf("%+v", only)
		}
		unknown := s.raw(client, rawCall{body: whole, header: []string{"grpc-encoding: middle-out"}})
		if got := unknown.header.Get("Grpc-Accept-Encoding"); got != "identity,gzip" {
			s.Errorf("grpc-accept-encoding: %q", got)
		}
		compressed := s.raw(client, rawCall{body: framed(1, gzipped(marshaled(textOf("hello")))), header: []string{"grpc-encoding: gzip"}})
		if compressed.header.Get("Grpc-Encoding") != "gzip" || len(compressed.body) < 5 || compressed.body[0] != 1 {
			s.Errorf("%+v", compressed)
		}
	})
}

// The server ends a call at its deadline although the client does not.
func TestDeadlineOfPatientClient(t *testing.T) {
	onWays(t, serving(&service{unary: func(ctx context.Context, _ *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, duplex: func(d testgrpc.TestService_FullDuplexCallServer) error {
		d.Send(&testpb.StreamingOutputCallResponse{})
		<-d.Context().Done()
		return d.Context().Err()
	}}), func(s *site) {
		client := s.rawClient(false)
		for _, path := range []string{unaryPath, duplexPath} {
			if r := s.raw(client, rawCall{path: path, header: []string{"grpc-timeout: 50m"}, body: framed(0, nil)}); r.status != "4" {
				s.Errorf("%s: status %s", path, r.status)
			}
		}
	})
}

func TestHTTPBesideGRPC(t *testing.T) {
	onWays(t, func(rpc *gallopgrpc.Server, server *gallop.Server) {
		serving(&service{unary: echo})(rpc, server)
		server.Handler = func(ctx *gallop.RequestCtx) {
			if ctx.Request.BodyStream() != nil {
				ctx.Error("a stream", 500)
				return
			}
			ctx.SetBodyString("page")
		}
		server.ErrorHandler = func(ctx *gallop.RequestCtx, err error) { ctx.SetBodyString("refused") }
		server.HeaderReceived = func(*gallop.RequestHeader) gallop.RequestConfig { return gallop.RequestConfig{MaxRequestBodySize: 10} }
	}, func(s *site) {
		if s.server.StreamRequestBody {
			s.Skip("only with Configure")
		}
		for _, http1 := range []bool{true, false} {
			client := s.rawClient(http1)
			plain := []string{"content-type: text/plain"}
			if r := s.raw(client, rawCall{path: "/page", header: plain, body: make([]byte, 10)}); r.http != 200 || string(r.body) != "page" {
				s.Errorf("HTTP/1 %v: %d %q", http1, r.http, r.body)
			}
			if r := s.raw(client, rawCall{path: "/page", header: plain, body: make([]byte, 11)}); r.http != 413 || string(r.body) != "refused" {
				s.Errorf("HTTP/1 %v: %d %q", http1, r.http, r.body)
			}
			r := s.raw(client, rawCall{body: framed(0, marshaled(textOf(strings.Repeat("long", 100))))})
			if want := map[bool]int{true: 505, false: 200}[http1]; r.http != want || http1 != (r.status == "13") {
				s.Errorf("HTTP/1 %v: %d, status %s %s", http1, r.http, r.status, r.message)
			}
		}
	})
}
