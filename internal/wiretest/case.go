package wiretest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Case is what a server has to do with certain bytes. The server under test echoes:
// it answers every request with 200 and an [Echo].
type Case struct {
	ID    string
	Area  string
	RFC   string
	Level string // MUST, SHOULD, MAY, LIMIT; SEC: no desynchronization even where the RFC leaves room

	Raw          []byte   `json:"raw_b64"` // what is sent; empty where RawParts are given
	RawParts     []Part   `json:"raw_parts"`
	Methods      []string // of the requests, in order, where that changes how responses are framed
	Steps        []Step   // how Raw is sent; all at once if empty
	HalfClose    bool     `json:"half_close"` // shut the write side after sending
	WriteSize    int      `json:"write_size"` // octets per write; 0 is all
	WriteDelayMS int      `json:"write_delay_ms"`
	Ext          bool     // needs the paths under /_/
	NoProbe      bool     `json:"no_probe"` // no follow-up request
	TimeoutMS    int      `json:"timeout_ms"`
	RawLen       int      `json:"raw_len"` // of RawParts together

	Expect Expect
}

// Part is octets that are repeated N times.
type Part struct {
	Bytes []byte `json:"b64"`
	N     int
}

// Step is one of these.
type Step struct {
	Send          int // so many octets
	SleepMS       int `json:"sleep_ms"`
	WaitInterim   int `json:"wait_interim"`   // until that 1xx, or a final response, arrived
	WaitResponses int `json:"wait_responses"` // until so many final responses arrived
	WaitAny       int `json:"wait_any"`       // until any response arrived
}

// Expect is what must come back. "First" means the first final response; what is
// said about the echo is about that of the first response.
type Expect struct {
	Kind   string // reject, accept, or either: both are allowed, and if accepted the rest must hold
	Prefer string // the safer choice where Kind is either
	Note   string

	Statuses  []int     // allowed codes of the first response; 0 is closed without one
	Responses OneOrMore // how many final responses; several numbers are alternatives
	Seq       [][]int   // allowed codes of each response
	Closes    *bool     // whether the connection must end, or must persist
	H2OK      bool      `json:"h2_ok"` // HTTP/2 frames are an answer as well

	BodySeen      *string      `json:"body_seen"` // as latin-1
	BodyLen       int          `json:"body_len"`
	BodySHA256    string       `json:"body_sha256"`
	PathSeen      Alternatives `json:"path_seen"`
	URISeen       Alternatives `json:"uri_seen"`
	HostSeen      Alternatives `json:"host_seen"`
	MethodSeen    Alternatives `json:"method_seen"`
	HeadersSeen   []Pair       `json:"headers_seen"`
	HeadersSeenWS []Pair       `json:"headers_seen_ws"` // after runs of blanks are made one
	HeadersJoined []Pair       `json:"headers_joined"`  // all lines of that name joined with ", "
	HeadersNot    []Pair       `json:"headers_not"`
	HeadersAbsent []string     `json:"headers_absent"`

	Paths        []*string // echoed path of each response
	PathsTailAny []string  `json:"paths_tail_any"` // of the last, if there are several
	NeverPath    string    `json:"never_path"`     // a smuggled path that must not be executed
	NeverStatus  []int     `json:"never_status"`

	Interim          []int
	InterimForbidden bool `json:"interim_forbidden"`

	SkipEcho           bool     `json:"skip_echo"` // the first response is none
	HeadersAbsentOut   []string `json:"resp_headers_absent"`
	HeadersAbsentOut2x []string `json:"resp_headers_absent_2xx"`
	HeadersContain     []Pair   `json:"resp_headers_contain"`
	Body               *string  `json:"resp_body"`
	BodyEmpty          bool     `json:"resp_body_empty"`
	Date               bool     `json:"resp_date"`
	KeepAliveEcho      bool     `json:"keepalive_echo"` // HTTP/1.0 kept open needs Connection: keep-alive
}

// Pair is a field name and a value.
type Pair [2]string

// OneOrMore is a number or a list of them.
type OneOrMore []int

func (o *OneOrMore) UnmarshalJSON(b []byte) error { return oneOrMore(b, (*[]int)(o)) }

// Alternatives is a string or a list of them; null is none, which allows anything.
type Alternatives []string

func (a *Alternatives) UnmarshalJSON(b []byte) error { return oneOrMore(b, (*[]string)(a)) }

func oneOrMore[T any](b []byte, list *[]T) error {
	if string(b) == "null" || bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, list)
	}
	*list = make([]T, 1)
	return json.Unmarshal(b, &(*list)[0])
}

// Bytes returns everything the case sends.
func (c *Case) Bytes() []byte { return join(c.Raw, c.RawParts) }

func join(raw []byte, parts []Part) []byte {
	if len(parts) == 0 {
		return raw
	}
	var b []byte
	for _, p := range parts {
		b = append(b, bytes.Repeat(p.Bytes, p.N)...)
	}
	return b
}

// Load reads a file of server cases, one JSON object a line.
func Load(path string) ([]Case, error) { return loadLines[Case](path) }

func loadLines[T any](path string) (list []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var v T
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("%s, case %d: %w", path, len(list)+1, err)
		}
		list = append(list, v)
	}
	return list, lines.Err()
}
