//go:build linux

package main

import (
	"net/http"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/arenas"
	"github.com/gallop-http/gallop/examples/arena/profile"
)

// arenaPrefix begins the names of servers with the arena's workloads: examples/arena, or one of package arenas.
const arenaPrefix = "arena-"

// inArena returns the name of a server of the arena, and false if the server is another program.
func inArena(server string) (name string, ok bool) { return strings.CutPrefix(server, arenaPrefix) }

// arenaProgram returns the name of the program that has a server of the arena.
func arenaProgram(name string) string {
	if name == "gallop" {
		return "arena-gallop"
	}
	return "arena"
}

// arenaBuild returns the arguments of go that build a server of the arena.
func arenaBuild(h *hall, name string) []string {
	if name == "gallop" {
		return []string{"build", "-C", "../examples/arena", "-o", h.program(arenaProgram(name)), "."}
	}
	return []string{"build", "-o", h.program(arenaProgram(name)), "./cmd/arena"}
}

// arenaCommand returns the command line of a server of the arena.
func arenaCommand(h *hall, c comparison, name, address string) (program string, args []string) {
	if name == "gallop" {
		program, args = h.program(arenaProgram(name)), []string{"-plain", address, "-tls1", "", "-tls2", "", "-h2c", ""}
	} else {
		program, args = h.program(arenaProgram(name)), []string{"-server", name, "-address", address}
	}
	if c.items {
		args = append(args, "-database", h.database.URL)
	}
	return program, args
}

// arena returns a workload of the arena by all frameworks. script is the script of wrk.
func arena(about, script string, items bool, goals ...goal) workload {
	w := workload{
		about:  about,
		rivals: under(wrk{script: script}, arenaPrefix+"gallop"),
		items:  items,
		shared: items, // PostgreSQL needs a core, too
		check:  func(url string) error { return checkArena(url, items) },
		goals:  goals,
	}
	for _, name := range arenas.Names() {
		w.rivals = append(w.rivals, under(wrk{script: script}, arenaPrefix+name)...)
	}
	return w
}

// checkArena asks a server for all workloads.
func checkArena(url string, items bool) error {
	client := &http.Client{Transport: new(http.Transport), Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	return profile.Check(client, url, items)
}
