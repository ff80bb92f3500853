package conn_test

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
)

// panicOnPurpose is what the command panic panics with.
const panicOnPurpose = "on purpose"

// echoProgram is the handler. It does what the name of the exchange says, and returns what it has seen:
//
//	echo [time]  sends the body back as it comes, after that time
//	sum          reads the body to its end
//	now          reads nothing
//	maybe x      does the same; or waits for the end if x is "wait", and does not say so if x is "hang"
//	big n        sends n bytes
//	flood n      sends n KiB of zeros
//	block        waits for the end of the exchange
//	late         waits for it, and goes on to use the exchange
//	panic        panics
func echoProgram(x *exchange) string {
	word, arg := command(x.name)
	name := strings.Clone(x.name) // at the start
	if x.send(frameOpen, x.name) != nil {
		return ""
	}
	word = afterDeadline(word)
	if d, err := time.ParseDuration(arg); err == nil {
		time.Sleep(d)
	}
	var seen []byte
	switch word {
	case "echo":
		seen = x.readAll(func(p []byte) { _, _ = x.Write(p) })
	case "sum":
		seen = x.readAll(func([]byte) {})
	case "big":
		n, _ := strconv.Atoi(arg)
		for p := bodyOf(x.name, n); len(p) > 0; {
			n := min(len(p), 1000)
			if _, err := x.Write(p[:n]); err != nil {
				break
			}
			p = p[n:]
		}
	case "flood":
		n, _ := strconv.Atoi(arg)
		zeros := make([]byte, 1024)
		for range n {
			if _, err := x.Write(zeros); err != nil {
				break
			}
		}
	case "block":
		x.await()
	case "maybe":
		if arg == "wait" {
			x.await()
		} else if arg == "hang" {
			<-x.done
		}
	case "late":
		x.await()
		x.goOn(name)
	case "panic":
		panic(panicOnPurpose)
	}
	if x.name != name {
		x.c.s.wrong("%q has become %q", name, x.name)
	}
	return summary(x.name, seen)
}

// readAll reads the body, checks it, and passes each piece to f.
func (x *exchange) readAll(f func([]byte)) (all []byte) {
	var p [300]byte
	for {
		n, err := x.Read(p[:])
		all = append(all, p[:n]...)
		if !bytes.Equal(all, bodyOf(x.name, len(all))) {
			x.c.s.wrong("%s: body of another exchange: %q", x.name, all)
		}
		if n > 0 {
			f(p[:n])
		}
		if err != nil {
			if err != io.EOF && x.Err() == nil {
				x.c.s.wrong("%s: %v", x.name, err)
			}
			return all
		}
	}
}

// await waits for the end of the exchange.
func (x *exchange) await() {
	if x.leave != nil {
		x.leave()
	}
	<-x.done
}

// goOn uses an exchange that has ended.
func (x *exchange) goOn(name string) {
	for range 20 {
		time.Sleep(time.Millisecond)
		n, err := x.Read(make([]byte, 10))
		_, werr := x.Write([]byte("too late"))
		if n > 0 || err == nil || werr == nil || x.Err() == nil || x.name != name {
			x.c.s.wrong("%q goes on as %q: %d, %v, %v", name, x.name, n, err, werr)
		}
	}
}
