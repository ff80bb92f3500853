package http2

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/memnet"
)

// The tests of this file connect this package to x/net's server and x/net's client over a connection in memory.

// runner reads from a connection, passes the bytes to a Conn, and writes the output.
type runner struct {
	c     Conn
	m     Message
	nc    net.Conn
	event func(ev Event)
	rest  map[uint32][]byte // bodies that are not sent
	after map[uint32]*field.List
}

func newRunner(cfg *Config, nc net.Conn) *runner {
	r := &runner{nc: nc, rest: map[uint32][]byte{}, after: map[uint32]*field.List{}}
	r.m.Head = new(message.Head)
	r.c.Init(cfg)
	return r
}

// send sends a body, as far as possible, and trailers if there are any.
func (r *runner) send(id uint32) {
	trailers := r.after[id]
	n, ok := r.c.WriteData(id, r.rest[id], trailers == nil, 0)
	if r.rest[id] = r.rest[id][n:]; ok && len(r.rest[id]) > 0 {
		return
	}
	if trailers != nil {
		r.c.WriteTrailers(id, trailers)
	}
	delete(r.rest, id)
	delete(r.after, id)
}

// run runs until the connection ends. It returns why.
func (r *runner) run() error {
	var buf []byte
	for {
		for len(r.c.Out()) > 0 {
			n, err := r.nc.Write(r.c.Out())
			if err != nil {
				return err
			}
			r.c.Sent(n)
			r.write()
		}
		ev, n := r.c.Next(buf, &r.m, 0)
		buf = buf[n:]
		switch ev.Kind {
		case Failed:
			_, _ = r.nc.Write(r.c.Out())
			return ev.Err
		case More:
			piece := make([]byte, 5000)
			n, err := r.nc.Read(piece)
			if err != nil {
				return err
			}
			buf = append(buf, piece[:n]...)
		case Writable, SettingsChanged:
			r.write()
		default:
			r.event(ev)
		}
	}
}

// write lets streams send whose turn it is.
func (r *runner) write() {
	for id, _, ok := r.c.NextWriter(); ok; id, _, ok = r.c.NextWriter() {
		r.send(id)
	}
}

// echo makes the runner a server that responds with the body of the request, and with its trailers. It says which header it got.
func (r *runner) echo() {
	bodies := map[uint32][]byte{}
	heads := map[uint32]*field.List{}
	respond := func(id uint32) {
		r.rest[id] = bodies[id]
		delete(bodies, id)
		r.c.Respond(id, 103, heads[id], false)
		r.c.Respond(id, 200, heads[id], false)
		r.send(id)
	}
	r.event = func(ev Event) {
		id := ev.Stream
		switch ev.Kind {
		case Head:
			l := new(field.List)
			if i := field.Find(&r.m.Head.Fields, field.Unknown, "x-echo"); i >= 0 {
				field.Add(l, field.Unknown, "X-Echo", r.m.Head.Fields.Value(i))
			}
			heads[id] = l
		case Data:
			bodies[id] = append(bodies[id], ev.Data...)
			r.c.Consumed(id, len(ev.Data))
		case Trailers:
			r.after[id] = new(field.List)
			r.m.Head.Fields.CopyTo(r.after[id])
		case Reset:
			r.c.Release(id)
		}
		if ev.End {
			respond(id)
		}
	}
}

func TestXNetClient(t *testing.T) {
	for _, window := range []uint32{1000, 65535, 1 << 20} {
		client, server := memnet.Pipe()
		cfg := testConfig(Server)
		cfg.StreamWindow, cfg.MaxConcurrentStreams = window, 100
		r := newRunner(cfg, server)
		r.echo()
		ended := make(chan error)
		go func() { ended <- r.run() }()
		cc, err := new(http2.Transport).NewClientConn(client)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() { callXNet(t, cc, i+1) }) // x/net sends no trailers after an empty body
		}
		group.Wait()
		client.Close()
		if err := <-ended; err != io.EOF {
			t.Errorf("the server ended with %v", err)
		}
	}
}

// callXNet makes call i, and checks the response.
func callXNet(t *testing.T, cc *http2.ClientConn, i int) {
	body := bytes.Repeat([]byte{byte(i)}, i*i*100)
	req, _ := http.NewRequest("POST", "http://a/", bytes.NewReader(body))
	req.Header.Set("X-Echo", fmt.Sprint(i))
	req.Header.Set("X-Long", strings.Repeat("x", 1000*(i%30)))
	req.Trailer = http.Header{"X-Sum": {fmt.Sprint(len(body))}}
	res, err := cc.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	got, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Equal(got, body) || res.Header.Get("X-Echo") != fmt.Sprint(i) || res.Trailer.Get("X-Sum") != fmt.Sprint(len(body)) {
		t.Errorf("call %d: %d bytes, %v, %v, %v", i, len(got), res.Header, res.Trailer, err)
	}
}

// xcall is a call of a runner that is a client.
type xcall struct {
	status int
	body   []byte
	sum    string
	echo   string
}

func TestXNetServer(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Echo", req.Header.Get("X-Echo"))
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(103)
		w.WriteHeader(200)
		_, _ = w.Write(body)
		w.Header().Set("X-Sum", req.Trailer.Get("X-Sum"))
	})
	for _, window := range []uint32{1000, 65535, 1 << 20} {
		client, server := memnet.Pipe()
		go new(http2.Server).ServeConn(server, &http2.ServeConnOpts{Handler: handler})
		cfg := testConfig(Client)
		cfg.StreamWindow, cfg.MaxConcurrentStreams = window, 20
		r := newRunner(cfg, client)
		calls := map[uint32]*xcall{}
		left := 50
		open := func() {
			for ; left > 0 && r.c.CanOpen(); left-- {
				line := RequestLine{Method: []byte("POST"), Scheme: []byte("http"), Authority: []byte("a"), Path: []byte("/")}
				var fields, trailers field.List
				body := bytes.Repeat([]byte{byte(left)}, left*left*100)
				field.Add(&fields, field.Unknown, "X-Echo", fmt.Sprint(left))
				field.Add(&fields, field.Trailer, "Trailer", "X-Sum")
				field.Add(&trailers, field.Unknown, "X-Sum", fmt.Sprint(len(body)))
				id, _, _ := r.c.Request(&line, &fields, false)
				calls[id] = new(xcall)
				r.rest[id], r.after[id] = body, &trailers
				r.send(id)
			}
		}
		open()
		finished := 0
		r.event = func(ev Event) {
			call := calls[ev.Stream]
			switch ev.Kind {
			case Head:
				call.status = r.m.Head.Status
				call.echo = string(r.m.Head.Fields.Value(field.Find(&r.m.Head.Fields, field.Unknown, "x-echo")))
			case Data:
				call.body = append(call.body, ev.Data...)
				r.c.Consumed(ev.Stream, len(ev.Data))
			case Trailers:
				call.sum = string(r.m.Head.Fields.Value(field.Find(&r.m.Head.Fields, field.Unknown, "x-sum")))
			case Reset:
				t.Errorf("stream %d was reset: %v", ev.Stream, ev.Code)
			}
			if ev.End {
				r.c.Release(ev.Stream)
				open()
				if finished++; finished == 50 {
					client.Close()
				}
			}
		}
		if err := r.run(); err == nil || finished != 50 {
			t.Errorf("%d calls, %v", finished, err)
		}
		for id, call := range calls {
			var n int
			fmt.Sscan(call.echo, &n)
			if want := bytes.Repeat([]byte{byte(n)}, n*n*100); call.status != 200 || n == 0 || !bytes.Equal(call.body, want) || call.sum != fmt.Sprint(len(want)) {
				t.Errorf("stream %d: status %d, call %s, %d bytes, sum %s", id, call.status, call.echo, len(call.body), call.sum)
			}
		}
	}
}
