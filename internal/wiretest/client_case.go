package wiretest

import (
	"fmt"
	"slices"
	"strings"
)

// ClientCase describes the bytes that a server sends to a client and what the client must make of them. The server
// responds to the request for /first with these bytes, and to the request for /second with the word "second".
type ClientCase struct {
	ID    string
	Area  string
	RFC   string
	Level string // one of the levels of Case.Level

	Method      string
	ReqHeaders  []Pair `json:"req_headers"`
	ReqBodyLen  int    `json:"req_body_len"`
	ServerReads string `json:"server_reads"` // head-then-drain: respond before reading the body

	Raw       []byte `json:"raw_b64"`
	RawParts  []Part `json:"raw_parts"`
	WriteSize int    `json:"write_size"` // bytes per write; 0 sends everything in one write
	Then      string // what the server does after the response: close, keep or reset
	DelayMS   int    `json:"delay_ms"` // delay before Then is done and before Late is sent
	Late      []byte `json:"late_b64"` // bytes sent when the connection is already idle

	SecondDelayMS *int `json:"second_delay_ms"` // delay before the client requests /second; if nil, it waits for the server to finish
	Repeat        int  // how often to play the case; 0 means once

	Expect ClientExpect
}

// ClientExpect describes the result that the client must report.
type ClientExpect struct {
	Kind   string // ok, error, or either; if an either case succeeds, the other fields must match
	Prefer string // the safer choice if Kind is either
	Note   string

	Status  int
	Body    *string
	BodyLen int   `json:"body_len"`
	Reuse   *bool // whether /second must use the connection of /first (true) or a new one (false)

	Headers        []Pair
	HeadersWS      []Pair         `json:"headers_ws"` // values with runs of blanks collapsed to one space
	HeadersJoined  []Pair         `json:"headers_joined"`
	HeadersCount   []CountOfField `json:"headers_count"`
	HeadersAbsent  []string       `json:"headers_absent"`
	TrailersIfHeld []Pair         `json:"trailers_if_supported"` // only checked if the client exposes trailers

	NeverBody string `json:"never_body"` // text that neither response may contain
	SecondOK  bool   `json:"second_ok"`  // /second must succeed, on another connection if necessary
}

// CountOfField is the expected number of lines of a field.
type CountOfField struct {
	Name string
	N    int
}

// UnmarshalJSON reads ["name", n].
func (c *CountOfField) UnmarshalJSON(b []byte) error {
	_, err := fmt.Sscanf(strings.NewReplacer("[", "", "]", "", ",", "", `"`, "").Replace(string(b)), "%s %d", &c.Name, &c.N)
	return err
}

// Bytes returns the whole response to /first.
func (c *ClientCase) Bytes() []byte { return join(c.Raw, c.RawParts) }

// LoadClient reads a file of client cases with one JSON object per line.
func LoadClient(path string) ([]ClientCase, error) { return loadLines[ClientCase](path) }

// Call is a request that the client under test has to send.
type Call struct {
	Method string
	Path   string
	Fields []Pair
	Body   []byte
}

// Result is the response that the client under test received. If the client could not read the whole body, its call
// returns an error instead.
type Result struct {
	Status   int
	Fields   []Field
	Body     []byte
	Trailers []Field // nil if the client does not expose trailers
}

// check compares the result of /first with the expected one.
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
		fail("body of %d bytes, want %d", len(r.Body), x.BodyLen)
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
