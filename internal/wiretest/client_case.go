package wiretest

import (
	"fmt"
	"slices"
	"strings"
)

// ClientCase is what a client has to make of certain bytes: a server answers the
// request for /first with them, and the request for /second, if it gets that far,
// with the word "second".
type ClientCase struct {
	ID    string
	Area  string
	RFC   string
	Level string // as in Case

	Method      string
	ReqHeaders  []Pair `json:"req_headers"`
	ReqBodyLen  int    `json:"req_body_len"`
	ServerReads string `json:"server_reads"` // head-then-drain: it answers before it reads the body

	Raw       []byte `json:"raw_b64"`
	RawParts  []Part `json:"raw_parts"`
	WriteSize int    `json:"write_size"` // octets per write; 0 is all
	Then      string // what the server does then: close, keep or reset
	DelayMS   int    `json:"delay_ms"` // before it does that, or sends Late
	Late      []byte `json:"late_b64"` // for a connection that is idle by now

	SecondDelayMS *int `json:"second_delay_ms"` // before the client asks for /second; once the server is done if nil
	Repeat        int  // how often to play the case; 0 is once

	Expect ClientExpect
}

// ClientExpect is what must come of it.
type ClientExpect struct {
	Kind   string // ok, error, or either: both are allowed, and if ok the rest must hold
	Prefer string // the safer choice where Kind is either
	Note   string

	Status  int
	Body    *string
	BodyLen int   `json:"body_len"`
	Reuse   *bool // whether /second must travel on the connection of /first, or must not

	Headers        []Pair
	HeadersWS      []Pair         `json:"headers_ws"` // after runs of blanks are made one
	HeadersJoined  []Pair         `json:"headers_joined"`
	HeadersCount   []CountOfField `json:"headers_count"`
	HeadersAbsent  []string       `json:"headers_absent"`
	TrailersIfHeld []Pair         `json:"trailers_if_supported"` // for a client that shows trailers

	NeverBody string `json:"never_body"` // of either answer
	SecondOK  bool   `json:"second_ok"`  // /second must be answered, if need be on another connection
}

// CountOfField is how many lines of a field there are.
type CountOfField struct {
	Name string
	N    int
}

// UnmarshalJSON reads ["name", n].
func (c *CountOfField) UnmarshalJSON(b []byte) error {
	_, err := fmt.Sscanf(strings.NewReplacer("[", "", "]", "", ",", "", `"`, "").Replace(string(b)), "%s %d", &c.Name, &c.N)
	return err
}

// Bytes returns the whole answer to /first.
func (c *ClientCase) Bytes() []byte { return join(c.Raw, c.RawParts) }

// LoadClient reads a file of client cases, one JSON object a line.
func LoadClient(path string) ([]ClientCase, error) { return loadLines[ClientCase](path) }

// Call is a request that a client under test is told to make.
type Call struct {
	Method string
	Path   string
	Fields []Pair
	Body   []byte
}

// Result is what a client under test has got. A body that could not be read to its
// end is an error of the call instead.
type Result struct {
	Status   int
	Fields   []Field
	Body     []byte
	Trailers []Field // nil where the client does not show them
}

// check compares what came of /first with what had to.
func (x *ClientExpect) check(r *Result, err error, strict bool) (failures []string) {
	fail := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	switch {
	case err != nil && x.Kind == "ok":
		fail("error %v, want %d", err, x.Status)
	case err == nil && x.Kind == "error":
		fail("taken as %d %.40q, want an error", r.Status, r.Body)
	case strict && x.Kind == "either" && (err == nil) != (x.Prefer == "ok"):
		fail("strict: got %v, prefer %s", err, x.Prefer)
	}
	if err != nil || x.Kind == "error" {
		return failures
	}
	if r.Status != x.Status {
		fail("status %d, want %d", r.Status, x.Status)
	}
	if x.Body != nil && string(r.Body) != *x.Body {
		fail("body %.40q, want %.40q", r.Body, *x.Body)
	}
	if x.BodyLen > 0 && len(r.Body) != x.BodyLen {
		fail("body of %d octets, want %d", len(r.Body), x.BodyLen)
	}
	if x.NeverBody != "" && strings.Contains(string(r.Body), x.NeverBody) {
		fail("DESYNC: body %.40q", r.Body)
	}
	return append(failures, x.checkFields(r)...)
}

func (x *ClientExpect) checkFields(r *Result) (failures []string) {
	want := func(ok bool, name string, got any, want string) {
		if !ok {
			failures = append(failures, fmt.Sprintf("%s: %q, want %s", name, got, want))
		}
	}
	for _, f := range x.Headers {
		got := values(r.Fields, f[0])
		want(slices.Contains(got, f[1]), f[0], got, f[1])
	}
	for _, f := range x.HeadersWS {
		got := values(r.Fields, f[0])
		same := func(v string) bool { return oneBlank(v) == f[1] }
		want(slices.ContainsFunc(got, same), f[0], got, f[1])
	}
	for _, f := range x.HeadersJoined {
		got := values(r.Fields, f[0])
		want(strings.Join(got, ", ") == f[1], f[0], got, f[1])
	}
	for _, f := range x.HeadersCount {
		got := values(r.Fields, f.Name)
		want(len(got) == f.N, f.Name, got, fmt.Sprint(f.N, " lines"))
	}
	for _, name := range x.HeadersAbsent {
		got := values(r.Fields, name)
		want(len(got) == 0, name, got, "none")
	}
	for _, f := range x.TrailersIfHeld {
		got := values(r.Trailers, f[0])
		want(r.Trailers == nil || slices.Contains(got, f[1]), "trailer "+f[0], got, f[1])
	}
	return failures
}
