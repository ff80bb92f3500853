package wiretest

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// serveEcho implements the contract of testdata/cases, up to what the tests here need.
func serveEcho(c net.Conn) error {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return err
		}
		e := Echo{Method: req.Method, URI: req.RequestURI, Path: req.URL.Path, Host: req.Host}
		for name, vs := range req.Header {
			for _, v := range vs {
				e.Headers = append(e.Headers, Pair{name, v})
			}
		}
		e.Body, _ = io.ReadAll(req.Body)
		b, _ := json.Marshal(e)
		if _, err := io.WriteString(c, answer("200 OK", string(b))); err != nil {
			return err
		}
	}
}

func answer(status, body string, lines ...string) string {
	lines = append(lines, "Content-Length: "+strconv.Itoa(len(body)))
	return "HTTP/1.1 " + status + "\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// script returns a server that sends the same bytes whatever it reads. It then closes the connection or goes on as an
// echo server.
func script(says string, closes bool) func(net.Conn) error {
	return func(c net.Conn) error {
		defer c.Close()
		buf := make([]byte, 64<<10)
		if _, err := c.Read(buf); err != nil {
			return err
		}
		if _, err := io.WriteString(c, says); err != nil {
			return err
		}
		if closes {
			return nil
		}
		return serveEcho(c)
	}
}

// TestPlayFinds shows that the player notices and describes wrong responses.
func TestPlayFinds(t *testing.T) {
	yes, no, text := true, false, "hello"
	ok := []int{200}
	accept := func(x Expect) Expect {
		x.Kind, x.Statuses = "accept", ok
		return x
	}
	reject := Expect{Kind: "reject", Statuses: []int{400}, Closes: &yes}
	echo := func(e Echo) string {
		b, _ := json.Marshal(e)
		return answer("200 OK", string(b))
	}
	good := echo(Echo{Method: "GET", URI: "/x?y", Path: "/x", Host: "h", Headers: []Pair{{"A", "b \t c"}, {"a", "d"}}, Body: []byte("hello")})
	for _, tt := range []struct {
		name   string
		says   string
		closes bool
		x      Expect
		want   string // part of the failure; empty if there must be none
	}{
		{"all is well", good, false, accept(Expect{
			Closes: &no, BodySeen: &text, PathSeen: Alternatives{"/x"}, URISeen: Alternatives{"/y", "/x?y"}, HostSeen: Alternatives{"h"}, MethodSeen: Alternatives{"GET"},
			HeadersSeen: []Pair{{"a", "d"}}, HeadersSeenWS: []Pair{{"A", "b c"}}, HeadersJoined: []Pair{{"A", "b \t c, d"}}, HeadersNot: []Pair{{"A", "c"}}, HeadersAbsent: []string{"B"},
		}), ""},
		{"another path", good, false, accept(Expect{PathSeen: Alternatives{"/"}}), "path seen"},
		{"another body", good, false, accept(Expect{BodySeen: new(string)}), "body seen"},
		{"another hash", good, false, accept(Expect{BodySHA256: "0"}), "body of 5 bytes differs"},
		{"a field missing", good, false, accept(Expect{HeadersSeen: []Pair{{"A", "c"}}}), "header A seen"},
		{"a field missing but for blanks", good, false, accept(Expect{HeadersSeenWS: []Pair{{"A", "c"}}}), "want about"},
		{"a field joined otherwise", good, false, accept(Expect{HeadersJoined: []Pair{{"A", "d"}}}), "joined"},
		{"a field too many", good, false, accept(Expect{HeadersAbsent: []string{"a"}}), "must not be seen"},
		{"a value that must not be", good, false, accept(Expect{HeadersNot: []Pair{{"A", "d"}}}), "must not be seen"},
		{"no echo", answer("200 OK", "hi"), false, accept(Expect{}), "no echo"},
		{"closes but should persist", good, true, accept(Expect{Closes: &no}), "should persist"},
		{"may close", good, true, accept(Expect{}), ""},
		{"persists but should close", answer("400 Bad Request", ""), false, reject, "left open"},
		{"closes as it should", answer("400 Bad Request", ""), true, reject, ""},
		{"another status", answer("404 Not Found", ""), true, reject, "status 404"},
		{"closes without a word", "", true, reject, "without a response"},
		{"two responses", good + good, false, accept(Expect{}), "2 responses"},
		{"junk behind the response", good + "junk", false, accept(Expect{}), "unparsable"},
		{"junk", "junk", true, accept(Expect{}), "unparsable"},
		{"cut short", good[:len(good)-2], true, accept(Expect{}), "truncated"},
		{"HTTP/2 settings", "\x00\x00\x00\x04\x00\x00\x00\x00\x00", true, Expect{Kind: "reject", Statuses: []int{400}, H2OK: true}, ""},
		{"smuggled", good, false, accept(Expect{NeverPath: "/x"}), "SMUGGLED"},
		{"a status that must not be", good, false, accept(Expect{NeverStatus: ok}), "must not be sent"},
		{"an interim that must not be", "HTTP/1.1 100 Continue\r\n\r\n" + good, false, accept(Expect{InterimForbidden: true}), "1xx"},
		{"an interim that must be", good, false, accept(Expect{Interim: []int{100}}), "interim 100 missing"},
		{"strict", good, false, Expect{Kind: "either", Statuses: ok, Prefer: "reject"}, "strict"},
		{"a field in the response", good, false, accept(Expect{HeadersAbsentOut: []string{"Content-Length"}}), "must not have"},
		{"a field in a 2xx response", good, false, accept(Expect{HeadersAbsentOut2x: []string{"Content-Length"}}), "must not have"},
		{"no field in the response", good, false, accept(Expect{HeadersContain: []Pair{{"Allow", "GET"}}}), "lacks Allow"},
		{"no Date", good, false, accept(Expect{Date: true}), "Date missing"},
		{"a body", good, false, accept(Expect{BodyEmpty: true}), "has a body"},
		{"another response body", good, false, accept(Expect{Body: &text}), "response body"},
		{"another sequence", good, false, accept(Expect{Seq: [][]int{{204}}}), "response 1 status 200"},
		{"another path in the sequence", good, false, accept(Expect{Paths: []*string{&text}}), "response 1 is"},
		{"another last path", good + good, false, accept(Expect{Responses: OneOrMore{2}, PathsTailAny: []string{"/next"}}), "DESYNC"},
		{"kept open without saying so", good, false, accept(Expect{KeepAliveEcho: true}), "without Connection: keep-alive"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &Case{ID: tt.name, Raw: []byte(Get("/")), Expect: tt.x}
				failures := strings.Join(Play(t.Context(), Dialer(script(tt.says, tt.closes)), c, true), "; ")
				if tt.want == "" && failures != "" || !strings.Contains(failures, tt.want) {
					t.Errorf("failures %q, want %q", failures, tt.want)
				}
			})
		})
	}
}

// TestPlaySteps shows how a case is sent.
func TestPlaySteps(t *testing.T) {
	ok := Expect{Kind: "accept", Statuses: []int{200}, PathSeen: Alternatives{"/x"}}
	one := Get("/x")
	continued := "HTTP/1.1 100 Continue\r\n\r\n"
	two := ok
	two.Responses = OneOrMore{2}
	for _, tt := range []struct {
		name  string
		serve func(net.Conn) error
		c     Case
		want  string
	}{
		{"byte by byte", serveEcho, Case{Raw: []byte(one), WriteSize: 1, WriteDelayMS: 5, Expect: ok}, ""},
		{"half-closed", serveEcho, Case{Raw: []byte(one), HalfClose: true, Expect: ok}, ""},
		{"in parts", serveEcho, Case{RawParts: []Part{{[]byte(one), 2}}, Expect: two}, ""},
		{"in steps", serveEcho, Case{Raw: []byte(one + one), Steps: []Step{{Send: len(one)}, {WaitResponses: 1}, {SleepMS: 500}, {Send: len(one)}}, Expect: two}, ""},
		{"in steps that nobody answers", serveEcho, Case{Raw: []byte(one), Steps: []Step{{Send: len(one)}, {WaitResponses: 2}}, Expect: ok}, "response 2 did not arrive"},
		{"with an interim response", script(continued, false), Case{Raw: []byte("x" + one), Steps: []Step{{Send: 1}, {WaitInterim: 100}, {Send: len(one)}}, Expect: ok}, ""},
		{"without one", serveEcho, Case{Raw: []byte(one), Steps: []Step{{Send: 1}, {WaitInterim: 100}}, Expect: ok}, "no 100 interim"},
		{"with anything", script(continued, false), Case{Raw: []byte("x" + one), Steps: []Step{{Send: 1}, {WaitAny: 1}, {Send: len(one)}}, Expect: ok}, ""},
		{"without anything", serveEcho, Case{Raw: []byte(one), Steps: []Step{{Send: 1}, {WaitAny: 1}}, Expect: ok}, "neither"},
		{"to nobody", script("", false), Case{Raw: []byte("x"), Expect: ok}, "no response and no close"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failures := strings.Join(Play(t.Context(), Dialer(tt.serve), &tt.c, true), "; ")
				if tt.want == "" && failures != "" || !strings.Contains(failures, tt.want) {
					t.Errorf("failures %q, want %q", failures, tt.want)
				}
			})
		})
	}
}

func TestPlayWithoutServer(t *testing.T) {
	refused := func() (net.Conn, error) { return nil, net.ErrClosed }
	if f := Play(context.Background(), refused, &Case{}, false); len(f) != 1 || !strings.HasPrefix(f[0], "connect: ") {
		t.Errorf("failures %q", f)
	}
}
