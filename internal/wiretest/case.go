package wiretest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Case describes the bytes that a test sends to a server and what the server must do with them. The server under test
// responds to every request with 200 and an [Echo].
type Case struct {
	ID    string
	Area  string
	RFC   string
	Level string // MUST, SHOULD, MAY, LIMIT; SEC: no desynchronization even if the RFC leaves room

	Raw          []byte   `json:"raw_b64"` // bytes to send; empty if RawParts is set
	RawParts     []Part   `json:"raw_parts"`
	Methods      []string // methods of the requests, in order, if they change how responses are framed
	Steps        []Step   // how Raw is sent; all at once if empty
	HalfClose    bool     `json:"half_close"` // shut the write side after sending
	WriteSize    int      `json:"write_size"` // bytes per write; 0 sends everything in one write
	WriteDelayMS int      `json:"write_delay_ms"`
	Ext          bool     // needs the paths under /_/
	NoProbe      bool     `json:"no_probe"` // no follow-up request
	TimeoutMS    int      `json:"timeout_ms"`
	RawLen       int      `json:"raw_len"` // total length of RawParts

	Expect Expect
}

// Part is a run of bytes that is sent N times.
type Part struct {
	Bytes []byte `json:"b64"`
	N     int
}

// Step is one action while a case is played. Exactly one of its fields is set.
type Step struct {
	Send          int // send this many bytes
	SleepMS       int `json:"sleep_ms"`
	WaitInterim   int `json:"wait_interim"`   // wait for this 1xx status or a final response
	WaitResponses int `json:"wait_responses"` // wait until this many final responses arrived
	WaitAny       int `json:"wait_any"`       // wait until any response arrived
}

// Expect describes what must come back. "First" means the first final response. Fields about the echo refer to the
// echo in the first response.
type Expect struct {
	Kind   string // reject, accept, or either; if an either case is accepted, the other fields must match
	Prefer string // the safer choice if Kind is either
	Note   string

	Statuses  []int     // allowed codes of the first response; 0 means closed without a response
	Responses OneOrMore // how many final responses; several numbers are alternatives
	Seq       [][]int   // allowed codes of each response
	Closes    *bool     // whether the connection must close (true) or stay open (false)
	H2OK      bool      `json:"h2_ok"` // HTTP/2 frames are also allowed as a response

	BodySeen      *string      `json:"body_seen"` // as latin-1
	BodyLen       int          `json:"body_len"`
	BodySHA256    string       `json:"body_sha256"`
	PathSeen      Alternatives `json:"path_seen"`
	URISeen       Alternatives `json:"uri_seen"`
	HostSeen      Alternatives `json:"host_seen"`
	MethodSeen    Alternatives `json:"method_seen"`
	HeadersSeen   []Pair       `json:"headers_seen"`
	HeadersSeenWS []Pair       `json:"headers_seen_ws"` // values with runs of blanks collapsed to one space
	HeadersJoined []Pair       `json:"headers_joined"`  // all lines of this name joined with ", "
	HeadersNot    []Pair       `json:"headers_not"`
	HeadersAbsent []string     `json:"headers_absent"`

	Paths        []*string // echoed path of each response
	PathsTailAny []string  `json:"paths_tail_any"` // allowed path of the last request, if there are several
	NeverPath    string    `json:"never_path"`     // a smuggled path that must not be executed
	NeverStatus  []int     `json:"never_status"`

	Interim          []int
	InterimForbidden bool `json:"interim_forbidden"`

	SkipEcho           bool     `json:"skip_echo"` // do not expect an echo in the first response
	HeadersAbsentOut   []string `json:"resp_headers_absent"`
	HeadersAbsentOut2x []string `json:"resp_headers_absent_2xx"`
	HeadersContain     []Pair   `json:"resp_headers_contain"`
	Body               *string  `json:"resp_body"`
	BodyEmpty          bool     `json:"resp_body_empty"`
	Date               bool     `json:"resp_date"`
	KeepAliveEcho      bool     `json:"keepalive_echo"` // an HTTP/1.0 connection that stays open needs Connection: keep-alive
}

// Pair is a field name with its value.
type Pair [2]string

// OneOrMore is a number or a list of numbers in JSON.
type OneOrMore []int

func (o *OneOrMore) UnmarshalJSON(b []byte) error { return oneOrMore(b, (*[]int)(o)) }

// Alternatives is a string or a list of strings in JSON. A null allows any value.
type Alternatives []string

func (a *Alternatives) UnmarshalJSON(b []byte) error { return oneOrMore(b, (*[]string)(a)) }

func oneOrMore[T any](b []byte, list *[]T) error {
	if string(b) == "null" || bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, list)
	}
	*list = make([]T, 1)
	return json.Unmarshal(b, &(*list)[0])
}

// Bytes returns everything that the case sends.
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

// Load reads a file of server cases with one JSON object per line.
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
