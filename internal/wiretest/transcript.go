package wiretest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Converse sends the parts to a server, each once the server has read the part before it and waits for more. Then it
// half-closes the connection, and returns everything that the server sends.
func Converse(serve func(net.Conn) error, parts ...[]byte) ([]byte, error) {
	client, server := Pipe()
	defer client.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = serve(server)
	}()
	for _, p := range parts {
		_, _ = client.Write(p)
		if !client.AwaitPeer(10 * time.Second) {
			return nil, fmt.Errorf("the server stopped reading")
		}
	}
	_ = client.CloseWrite()
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Second))
	out, err := io.ReadAll(client)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		return out, err
	}
	<-served
	return out, nil
}

// Transcript writes the responses in out so that two runs can be compared. It omits the Date field, and interim
// responses, which depend on when bytes arrived. The methods are those of the requests; missing ones are GET.
func Transcript(out []byte, methods []string) (string, error) {
	var b []byte
	for i := 0; len(out) > 0; {
		method := "GET"
		if i < len(methods) {
			method = methods[i]
		}
		r, n, err := Parse(out, method, true)
		if err != nil {
			return string(b), err
		}
		out = out[n:]
		if r.Interim() {
			continue
		}
		i++
		fields := slices.DeleteFunc(r.Fields, func(f Field) bool { return f.Name == "Date" })
		b = appendFields(strconv.AppendInt(b, int64(r.Status), 10), fields)
		b = strconv.AppendQuote(append(b, ' '), string(r.Body))
		b = append(appendFields(b, r.Trailers), '\n')
	}
	return string(b), nil
}

func appendFields(b []byte, fields []Field) []byte {
	b = append(b, " ["...)
	for _, f := range fields {
		b = append(strconv.AppendQuote(append(b, '{'), f.Name), ' ')
		b = append(strconv.AppendQuote(b, f.Value), '}')
	}
	return append(b, ']')
}

// Reference is the transcript of a conversation, for comparing other conversations with it. A Reference is safe for
// concurrent use.
type Reference struct {
	methods    []string
	transcript string
	same       atomic.Pointer[[]byte] // output that has this transcript
}

// NewReference holds the conversation that it has with the server, as [ConverseTranscript] does.
func NewReference(serve func(net.Conn) error, methods []string, parts ...[]byte) (*Reference, error) {
	transcript, err := ConverseTranscript(serve, methods, parts...)
	if err != nil {
		return nil, err
	}
	return &Reference{methods: methods, transcript: transcript}, nil
}

// Compare has another conversation, and returns an error unless it has the same transcript.
func (r *Reference) Compare(serve func(net.Conn) error, parts ...[]byte) error {
	out, err := Converse(serve, parts...)
	if err != nil {
		return err
	}
	if same := r.same.Load(); same != nil && bytes.Equal(*same, out) {
		return nil
	}
	got, err := Transcript(out, r.methods)
	if err != nil {
		return err
	}
	if got != r.transcript {
		return errors.New(Difference(got, r.transcript))
	}
	r.same.Store(&out)
	return nil
}

// ConverseTranscript returns the [Transcript] of what [Converse] returns.
func ConverseTranscript(serve func(net.Conn) error, methods []string, parts ...[]byte) (string, error) {
	out, err := Converse(serve, parts...)
	if err != nil {
		return "", err
	}
	return Transcript(out, methods)
}

// Difference returns the first line in which two transcripts differ, for an error message.
func Difference(got, want string) string {
	for n := 1; got != "" || want != ""; n++ {
		var g, w string
		g, got, _ = strings.Cut(got, "\n")
		w, want, _ = strings.Cut(want, "\n")
		if g != w {
			return fmt.Sprintf("\nresponse %d is %.300s\nwant %.300s", n, g, w)
		}
	}
	return ""
}

// Report fails the test with the failures of cases, sorted by the ids of the cases.
func Report(t testing.TB, failures map[string][]string) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(failures)) {
		t.Errorf("%s: %q", id, failures[id])
	}
}
