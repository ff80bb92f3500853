package http2flood

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// roleVariable says which role a process has that is a child of the test. Its arguments follow the role.
const roleVariable = "GALLOP_FLOOD_ROLE"

// roles are the functions of the children.
var roles = map[string]func(args []string) error{"server": playServer, "attacker": playAttacker, "good": playGood}

func TestMain(m *testing.M) {
	words := strings.Split(os.Getenv(roleVariable), " ")
	play := roles[words[0]]
	if play == nil {
		if !wiretest.Full() {
			wiretest.WaitInParallel()
		}
		os.Exit(m.Run())
	}
	if err := play(words[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", words[0], err)
		os.Exit(1)
	}
}

// child is a child process. It gets lines of text, and responds with JSON.
type child struct {
	role string
	in   io.Writer
	out  *json.Decoder
}

// startChild runs this program in a role until the test ends, with a command such as taskset before it.
func startChild(t *testing.T, role string, command []string, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command[0], append(command[1:], self)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", roleVariable+"="+role+" "+strings.Join(args, " "))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		late := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	})
	return &child{role, in, json.NewDecoder(out)}
}

func (c *child) tell(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		t.Fatalf("%s: %v", c.role, err)
	}
}

func (c *child) hear(t *testing.T, answer any) {
	t.Helper()
	if err := c.out.Decode(answer); err != nil {
		t.Fatalf("%s: %v", c.role, err)
	}
}

func (c *child) ask(t *testing.T, line string, answer any) {
	t.Helper()
	c.tell(t, line)
	c.hear(t, answer)
}

const (
	streamedBodies  = "streamed"
	collectedBodies = "collected"
)

// engineName returns the argument of a server for an engine.
func engineName(over gallop.EngineType) string {
	return (&site{Server: gallop.Server{Engine: over}}).String()
}

// playServer serves until the standard input ends. MaxConcurrentHandlers has its default: with a low limit, handlers that an attacker
// keeps busy delay all clients, and that is what the limit is for.
func playServer(args []string) error {
	s := &site{}
	over := gallop.EngineLoop
	if args[0] == engineName(gallop.EngineGoroutine) {
		over = gallop.EngineGoroutine
	}
	s.init(over)
	s.MaxConcurrentHandlers = 0
	s.StreamRequestBody = args[1] == streamedBodies
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	s.Logger = log.New(null, "", log.LstdFlags)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(ln.Addr().String()); err != nil {
		return err
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		s.Close()
	}()
	return s.Serve(ln)
}

// attackerReport is what an attacker has done.
type attackerReport struct {
	Conns, Frames int
	Err           string
}

// String returns the numbers in one line.
func (r attackerReport) String() string {
	return fmt.Sprintf("%d frames, %d connections", r.Frames, r.Conns)
}

// playAttacker starts the attack, or the legal client, whose name it reads, until it reads "stop".
func playAttacker(args []string) error {
	addr, bodies := args[0], args[1]
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		run := attackNamed(in.Text(), bodies)
		if run == nil {
			return fmt.Errorf("no attack has the name %q", in.Text())
		}
		var stop atomic.Bool
		ended := make(chan attackerReport)
		go func() {
			var r attackerReport
			if err := run(addr, &r, &stop); err != nil {
				r.Err = err.Error()
			}
			ended <- r
		}()
		if !in.Scan() || in.Text() != "stop" {
			return errors.New("no stop after an attack")
		}
		stop.Store(true)
		if err := json.NewEncoder(os.Stdout).Encode(<-ended); err != nil {
			return err
		}
	}
	return in.Err()
}

// attackNamed returns the function of an attack or of a legal client, or nil.
func attackNamed(name, bodies string) func(addr string, r *attackerReport, stop *atomic.Bool) error {
	for _, l := range legals {
		if l.name == name {
			return l.run
		}
	}
	for _, a := range attacksOn(bodies) {
		if a.name == name {
			return a.flood
		}
	}
	return nil
}

// attackerBuffer is the size of an attacker's send buffer. If megabytes are left in it when the connection ends, the kernel is busy for
// 0.7 ms. The good client, on the same processor, could not run meanwhile. With this size, the server is as busy as with a larger one.
const attackerBuffer = 128 << 10

// flood attacks again and again, without a pause.
func (a *attack) flood(addr string, r *attackerReport, stop *atomic.Bool) error {
	for !stop.Load() {
		p, err := dial(addr)
		if err != nil {
			return err
		}
		if err := p.nc.(*net.TCPConn).SetWriteBuffer(attackerBuffer); err != nil {
			return err
		}
		r.Conns++
		if a.before != nil {
			a.before(p)
		}
		for p.frames < a.frames && p.isAlive() && !stop.Load() {
			a.next(p)
		}
		p.flush()
		r.Frames += p.frames
		if stop.Load() {
			p.nc.Close()
			<-p.ended
			return nil
		}
		if code, err := p.verdict(10 * time.Second); err != nil || code != a.want {
			return fmt.Errorf("after %d frames: GOAWAY %v, %w; want %v", p.frames, code, err, a.want)
		}
	}
	return nil
}
