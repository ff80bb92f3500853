//go:build linux

package reliability

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/bench/child"
)

// attackConfig is the configuration that the judge sends to an attacker's process.
type attackConfig struct {
	Mode    string // a key of attacks
	Address string
	Conns   int
	Rate    int           // new connections per second; 0 means as fast as possible
	Opening []byte        // sent first on every connection
	Drip    int           // number of bytes of Endless that are sent at a time afterwards
	Every   time.Duration // pause between two drips; 0 sends no drips
	Endless []byte        // repeated forever
	Cases   []floodCase   // for the mode "flood"; without cases it connects and closes
	Count   int           // connections of the flood; 0 means until it is stopped
}

// attackStat holds what an attacker saw.
type attackStat struct {
	Connected, Refused int
	Gone               int           // connections that the server closed
	First, Last        time.Duration // shortest and longest lifetime of a connection
	Statuses           map[int]int   // status of the first response, if there was one, on each connection
	flooded
}

// attacks maps a mode to what happens on each connection. An attack returns when the server closes the connection or
// the attacker is told to stop.
var attacks = map[string]func(*attacker, *net.TCPConn){
	"drip": (*attacker).drip,
	"sip":  (*attacker).sip,
	"hold": (*attacker).hold,
}

type attacker struct {
	attackConfig
	released atomic.Bool // connections of the mode "hold" may end

	mu    sync.Mutex
	stat  attackStat
	conns []net.Conn
}

// attackMain runs the attacker's process. It replies to each command with an attackStat, and sends the first one
// unasked when all connections are open.
func attackMain(raw []byte) error {
	a := &attacker{stat: attackStat{Statuses: map[int]int{}}}
	if err := json.Unmarshal(raw, &a.attackConfig); err != nil {
		return err
	}
	if a.Mode == "flood" {
		stop := startFlood(a)
		defer stop()
	} else {
		a.connect()
	}
	return child.Obey(a.snapshot(), func(command string) any {
		if command == "release" {
			a.release()
		}
		return a.snapshot()
	})
}

func (a *attacker) snapshot() attackStat {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stat
	s.Statuses = maps.Clone(s.Statuses)
	s.WrongCases = maps.Clone(s.WrongCases)
	return s
}

// connect opens the connections. The attack begins on each as soon as it is open.
func (a *attacker) connect() {
	var wait sync.WaitGroup
	var next atomic.Int64
	start := time.Now()
	for range 32 {
		wait.Go(func() {
			for n := next.Add(1); n <= int64(a.Conns); n = next.Add(1) {
				if a.Rate > 0 {
					time.Sleep(time.Until(start.Add(time.Duration(n) * time.Second / time.Duration(a.Rate))))
				}
				a.attack(int(n))
			}
		})
	}
	wait.Wait()
}

func (a *attacker) attack(n int) {
	c, err := dialer(n, a.Mode == "sip").Dial("tcp4", a.Address)
	if err != nil {
		a.mu.Lock()
		a.stat.Refused++
		a.mu.Unlock()
		return
	}
	start := time.Now()
	a.mu.Lock()
	a.stat.Connected++
	a.conns = append(a.conns, c)
	a.mu.Unlock()
	go func() {
		attacks[a.Mode](a, c.(*net.TCPConn))
		a.gone(time.Since(start))
		c.Close()
	}()
}

func (a *attacker) gone(after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stat.Gone++
	a.stat.Last = max(a.stat.Last, after)
	if a.stat.First == 0 || after < a.stat.First {
		a.stat.First = after
	}
}

func (a *attacker) answered(head []byte) {
	status, err := parseStatus(head)
	if err != nil {
		status = -1
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stat.Statuses[status]++
}

// release lets held connections end after their response.
func (a *attacker) release() {
	a.released.Store(true)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.conns {
		c.SetReadDeadline(time.Now().Add(-time.Second)) // wakes the connections that already have their response
	}
}

// drip sends the opening, and then a few bytes at a time forever.
func (a *attacker) drip(c *net.TCPConn) {
	var in [512]byte
	sent, seen := 0, false
	if _, err := c.Write(a.Opening); err != nil {
		return
	}
	wake := time.Now().Add(time.Duration(rand.Int64N(int64(max(a.Every, 1)))))
	for {
		if a.Every > 0 {
			c.SetReadDeadline(wake)
		}
		n, err := c.Read(in[:])
		if n > 0 && !seen {
			seen = true
			a.answered(in[:n])
		}
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			_, err = c.Write(a.next(sent))
			sent += a.Drip
			wake = wake.Add(a.Every)
		}
		if err != nil {
			return
		}
	}
}

// next returns the drip that follows the first sent bytes. It repeats Endless. A request head must not be repeated,
// so for heads Endless is long enough for the whole attack.
func (a *attacker) next(sent int) []byte {
	start := sent % len(a.Endless)
	return a.Endless[start:min(start+a.Drip, len(a.Endless))]
}

// sip sends the opening and reads the response a few bytes at a time, over a connection with a small window.
func (a *attacker) sip(c *net.TCPConn) {
	if _, err := c.Write(a.Opening); err != nil {
		return
	}
	in := make([]byte, a.Drip)
	for seen := false; ; seen = true {
		n, err := c.Read(in)
		if err != nil {
			return
		}
		if !seen && n >= 12 {
			a.answered(in[:n])
		}
		time.Sleep(a.Every)
	}
}

// hold sends the opening, reads a response and keeps the connection open until it is released.
func (a *attacker) hold(c *net.TCPConn) {
	if _, err := c.Write(a.Opening); err != nil {
		return
	}
	in := &client{Conn: c, in: bufio.NewReaderSize(c, 512)}
	r, err := in.read()
	for err != nil && isTimeout(err) { // release came before the response
		c.SetReadDeadline(time.Now().Add(time.Minute))
		r, err = in.read()
	}
	a.mu.Lock()
	a.stat.Statuses[r.status]++
	a.mu.Unlock()
	if err == nil && !a.released.Load() {
		c.Read(make([]byte, 1))
	}
}

// attackers are the processes of one attack. Their number depends on the descriptors that the attack needs.
type attackers []*child.Process

// connsPerProcess leaves room below the usual limit of descriptors.
const connsPerProcess = 10_000

// attack starts processes for all connections of the configuration and waits until the connections are open.
func (t *trial) attack(config attackConfig) (attackers, attackStat, error) {
	var as attackers
	for _, part := range config.split() {
		cmd, err := child.Command("attack", part)
		if err != nil {
			return as, attackStat{}, err
		}
		p, err := child.Start(cmd)
		if err != nil {
			return as, attackStat{}, err
		}
		as = append(as, p)
	}
	sum, err := as.hear()
	if err == nil {
		err = config.complete(sum)
	}
	return as, sum, err
}

// split returns the configuration of each process.
func (c attackConfig) split() (parts []attackConfig) {
	processes := (c.Conns + connsPerProcess - 1) / connsPerProcess
	for left := c.Conns; left > 0; left -= connsPerProcess {
		part := c
		part.Conns = min(left, connsPerProcess)
		part.Rate /= processes
		parts = append(parts, part)
	}
	return parts
}

// complete returns an error if not all connections could be opened, because an attack with fewer proves less.
func (c attackConfig) complete(sum attackStat) error {
	if sum.Connected < c.Conns {
		return fmt.Errorf("only %d of %d connections could be opened", sum.Connected, c.Conns)
	}
	return nil
}

// tell sends a command to each process and returns the sum of the replies.
func (as attackers) tell(command string) (attackStat, error) {
	for _, p := range as {
		if err := p.Tell(command); err != nil {
			return attackStat{}, err
		}
	}
	return as.hear()
}

func (as attackers) hear() (attackStat, error) {
	sum := attackStat{Statuses: map[int]int{}}
	for _, p := range as {
		var s attackStat
		if err := p.Hear(&s); err != nil {
			return sum, err
		}
		sum.add(s)
	}
	return sum, nil
}

func (s *attackStat) add(other attackStat) {
	s.Connected += other.Connected
	s.Refused += other.Refused
	s.Gone += other.Gone
	s.Last = max(s.Last, other.Last)
	if s.First == 0 || other.First != 0 && other.First < s.First {
		s.First = other.First
	}
	for status, n := range other.Statuses {
		s.Statuses[status] += n
	}
	s.flooded.add(other.flooded)
}

func (as attackers) stop() {
	for _, p := range as {
		p.Stop()
	}
}
